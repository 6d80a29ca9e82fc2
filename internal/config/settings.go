package config

import "time"

// Settings are the host's settings with every value filled in. The table in
// rows.go says what each is for and how it is written.
type Settings struct {
	Plugins      []string
	Trust        []string
	Data         string // empty: the platform's state directory
	Addr         string
	Key          string // secret; empty: only keys of the store
	BaseURL      string // without a slash at the end; empty: none
	LogLevel     string // debug, info, warn or error
	LogFormat    string // json or text
	Drain        time.Duration
	Limits       Limits
	Sandbox      Sandbox
	MinFreeBytes int64
	Retention    time.Duration // negative: for ever
	OTLPEndpoint string        // empty: no traces
}

// Sandbox bounds what a plugin's module may cost before it runs.
type Sandbox struct {
	CompileMemoryBytes int64
	CompileTime        time.Duration // of a processor
	CompiledBytes      int64         // of one module
	CacheBytes         int64
	PoolBytes          int64 // of all instances that wait
	MaxInstances       int
	AllowShared        bool
}

// Limits bound what callers may use.
type Limits struct {
	MaxInFlight       int
	PerKeyConcurrency int
	PerKeyRate        int // calls a second
	MaxUploadBytes    int64
	MaxConnections    int
	ReadTimeout       time.Duration
	IdleTimeout       time.Duration
	MaxHeaderBytes    int
	BreakerFailures   int // in a row; 0: never
	BreakerPause      time.Duration
}

// Type is the type of a setting's value.
type Type string

// The types, and how their values are written in the file.
const (
	TypeString   Type = "string"   // text
	TypeInt      Type = "int"      // decimal number
	TypeDuration Type = "duration" // 90s, 1h30m, 30d
	TypeBytes    Type = "bytes"    // number, or one with KiB, MiB, GiB or TiB
	TypeBool     Type = "bool"     // true or false
	TypeList     Type = "list"     // sequence of texts; in the environment separated as in PATH
)

// Row describes a setting.
type Row struct {
	Name        string // in the file; each dot is one more level
	Type        Type
	Default     string // as it is written in the file; empty: nothing
	Environment string
	Flag        string // without dashes; empty: none, because command lines are public
	Description string
	Values      []string // all that are allowed; nil: what the type allows
	Secret      bool
}

// Reference lists all settings, in the order of the documentation. The caller
// owns the slice.
func Reference() []Row {
	table := rows()
	list := make([]Row, len(table))
	for i, r := range table {
		list[i] = r.Row
	}
	return list
}
