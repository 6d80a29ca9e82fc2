package config

import (
	"math"
	"slices"
)

// forever is the word for a duration without an end.
const forever = "forever"

// row is a setting with what loading needs.
type row struct {
	Row
	// field points to the setting: *string, *int, *int64 for bytes,
	// *time.Duration, *bool or *[]string.
	field func(*Settings) any
	// least and most bound int, bytes and duration (in nanoseconds).
	least, most int64
	check       func(text string) error // of a text that is not empty; nil: any
	path        bool                    // relative to the file that it stands in
	endless     bool                    // the duration may be "forever"
}

// rows is the table of settings. It is the only place where one is declared.
func rows() []row {
	return slices.Concat(placeRows(), serverRows(), limitRows(), sandboxRows())
}

func placeRows() []row {
	return []row{
		{
			Row: Row{Name: "plugins", Type: TypeList, Environment: "VCPHOST_PLUGINS", Flag: "plugins",
				Description: "Directories of plugin folders, beside the bundled plugins. Without any, `./plugins` if it exists."},
			field: func(s *Settings) any { return &s.Plugins }, path: true,
		},
		{
			Row: Row{Name: "trust", Type: TypeList, Environment: "VCPHOST_TRUST", Flag: "trust",
				Description: "Grant what the plugins at or below these directories ask for."},
			field: func(s *Settings) any { return &s.Trust }, path: true,
		},
		{
			Row: Row{Name: "data", Type: TypeString, Environment: "VCPHOST_DATA", Flag: "data",
				Description: "Directory of the store and the caches. Without one, the platform's state directory."},
			field: func(s *Settings) any { return &s.Data }, path: true,
		},
		{
			Row: Row{Name: "minFreeBytes", Type: TypeBytes, Default: "256MiB", Environment: "VCPHOST_MIN_FREE_BYTES", Flag: "min-free-bytes",
				Description: "Free disk space below which the store takes no writes, and calls are refused. The store needs it for itself when the disk fills up."},
			field: func(s *Settings) any { return &s.MinFreeBytes }, least: 64 << 20, most: math.MaxInt64,
		},
		{
			Row: Row{Name: "retention", Type: TypeDuration, Default: "30d", Environment: "VCPHOST_RETENTION", Flag: "retention",
				Description: "How long results are kept, or `forever`."},
			field: func(s *Settings) any { return &s.Retention }, least: int64(minute), most: math.MaxInt64, endless: true,
		},
	}
}

func serverRows() []row {
	return []row{
		{
			Row: Row{Name: "addr", Type: TypeString, Default: "127.0.0.1:6005", Environment: "VCPHOST_ADDR", Flag: "addr",
				Description: "Host and port on which `serve` listens. Port 0 takes a free one."},
			field: func(s *Settings) any { return &s.Addr }, check: checkAddr,
		},
		{
			Row: Row{Name: "key", Type: TypeString, Environment: "VCPHOST_KEY", Secret: true,
				Description: "An administrator's key of your own choice, 32 to 512 printable ASCII characters. `vcphost key add` makes better ones."},
			field: func(s *Settings) any { return &s.Key }, check: checkKey,
		},
		{
			Row: Row{Name: "baseUrl", Type: TypeString, Environment: "VCPHOST_BASE_URL", Flag: "base-url",
				Description: "URL under which callers reach the server, for links in results. Without one, results have no links."},
			field: func(s *Settings) any { return &s.BaseURL }, check: checkURL,
		},
		{
			Row: Row{Name: "logLevel", Type: TypeString, Default: "info", Environment: "VCPHOST_LOG_LEVEL", Flag: "log-level",
				Description: "The least important messages that are logged.", Values: []string{"debug", "info", "warn", "error"}},
			field: func(s *Settings) any { return &s.LogLevel },
		},
		{
			Row: Row{Name: "logFormat", Type: TypeString, Default: "json", Environment: "VCPHOST_LOG_FORMAT", Flag: "log-format",
				Description: "How `serve` writes its log, to standard error.", Values: []string{"json", "text"}},
			field: func(s *Settings) any { return &s.LogFormat },
		},
		{
			Row: Row{Name: "otlpEndpoint", Type: TypeString, Environment: "VCPHOST_OTLP_ENDPOINT", Flag: "otlp-endpoint",
				Description: "URL to which traces are sent, as OTLP over HTTP. Without one, none are made."},
			field: func(s *Settings) any { return &s.OTLPEndpoint }, check: checkURL,
		},
		{
			Row: Row{Name: "drain", Type: TypeDuration, Default: "30s", Environment: "VCPHOST_DRAIN", Flag: "drain",
				Description: "How long running requests may go on when the server stops; then their calls are cancelled. A second signal ends the program at once."},
			field: func(s *Settings) any { return &s.Drain }, most: int64(hour),
		},
	}
}

func limitRows() []row {
	return []row{
		{
			Row: Row{Name: "limits.maxInFlight", Type: TypeInt, Default: "64", Environment: "VCPHOST_MAX_IN_FLIGHT", Flag: "max-in-flight",
				Description: "Calls that run at a time; more wait in a queue that is fair to each key."},
			field: func(s *Settings) any { return &s.Limits.MaxInFlight }, least: 1, most: 1 << 20,
		},
		{
			Row: Row{Name: "limits.perKeyConcurrency", Type: TypeInt, Default: "16", Environment: "VCPHOST_PER_KEY_CONCURRENCY", Flag: "per-key-concurrency",
				Description: "Calls of one key that run or wait at a time."},
			field: func(s *Settings) any { return &s.Limits.PerKeyConcurrency }, least: 1, most: 1 << 20,
		},
		{
			Row: Row{Name: "limits.perKeyRate", Type: TypeInt, Default: "50", Environment: "VCPHOST_PER_KEY_RATE", Flag: "per-key-rate",
				Description: "Calls a second that one key may begin, on average."},
			field: func(s *Settings) any { return &s.Limits.PerKeyRate }, least: 1, most: 1 << 20,
		},
		{
			Row: Row{Name: "limits.maxUploadBytes", Type: TypeBytes, Default: "1GiB", Environment: "VCPHOST_MAX_UPLOAD_BYTES", Flag: "max-upload-bytes",
				Description: "The largest resource that may be uploaded."},
			field: func(s *Settings) any { return &s.Limits.MaxUploadBytes }, least: 1, most: math.MaxInt64,
		},
		{
			Row: Row{Name: "limits.maxConnections", Type: TypeInt, Default: "16384", Environment: "VCPHOST_MAX_CONNECTIONS", Flag: "max-connections",
				Description: "Connections at a time, idle ones included."},
			field: func(s *Settings) any { return &s.Limits.MaxConnections }, least: 1, most: 1 << 20,
		},
		{
			Row: Row{Name: "limits.readTimeout", Type: TypeDuration, Default: "30s", Environment: "VCPHOST_READ_TIMEOUT", Flag: "read-timeout",
				Description: "How long a request may take to arrive."},
			field: func(s *Settings) any { return &s.Limits.ReadTimeout }, least: int64(second), most: int64(hour),
		},
		{
			Row: Row{Name: "limits.idleTimeout", Type: TypeDuration, Default: "1m", Environment: "VCPHOST_IDLE_TIMEOUT", Flag: "idle-timeout",
				Description: "How long a connection is kept without a request."},
			field: func(s *Settings) any { return &s.Limits.IdleTimeout }, least: int64(second), most: int64(hour),
		},
		{
			Row: Row{Name: "limits.maxHeaderBytes", Type: TypeBytes, Default: "6KiB", Environment: "VCPHOST_MAX_HEADER_BYTES", Flag: "max-header-bytes",
				Description: "The longest head of a request."},
			field: func(s *Settings) any { return &s.Limits.MaxHeaderBytes }, least: 1 << 10, most: 1 << 20,
		},
		{
			Row: Row{Name: "limits.breakerFailures", Type: TypeInt, Default: "5", Environment: "VCPHOST_BREAKER_FAILURES", Flag: "breaker-failures",
				Description: "Failures in a row to reach a plugin after which its circuit breaker opens: calls of it are refused for a while. 0 never opens one."},
			field: func(s *Settings) any { return &s.Limits.BreakerFailures }, most: 1 << 20,
		},
		{
			Row: Row{Name: "limits.breakerPause", Type: TypeDuration, Default: "10s", Environment: "VCPHOST_BREAKER_PAUSE", Flag: "breaker-pause",
				Description: "How long an open circuit breaker refuses calls before it lets one try."},
			field: func(s *Settings) any { return &s.Limits.BreakerPause }, least: int64(second / 10), most: int64(hour),
		},
	}
}

func sandboxRows() []row {
	return []row{
		{
			Row: Row{Name: "sandbox.compileMemoryBytes", Type: TypeBytes, Default: "1GiB", Environment: "VCPHOST_COMPILE_MEMORY_BYTES", Flag: "compile-memory-bytes",
				Description: "Memory that compiling one plugin's module may take. More refuses the plugin."},
			field: func(s *Settings) any { return &s.Sandbox.CompileMemoryBytes }, least: 64 << 20, most: 1 << 40,
		},
		{
			Row: Row{Name: "sandbox.compileTime", Type: TypeDuration, Default: "1m", Environment: "VCPHOST_COMPILE_TIME", Flag: "compile-time",
				Description: "Processor time that compiling one plugin's module may take, and four times as long by the clock. More refuses the plugin."},
			field: func(s *Settings) any { return &s.Sandbox.CompileTime }, least: int64(second), most: int64(day),
		},
		{
			Row: Row{Name: "sandbox.compiledBytes", Type: TypeBytes, Default: "256MiB", Environment: "VCPHOST_COMPILED_BYTES", Flag: "compiled-bytes",
				Description: "The largest compiled form of one plugin's module, which the host holds in memory. More refuses the plugin."},
			field: func(s *Settings) any { return &s.Sandbox.CompiledBytes }, least: 1 << 20, most: 1 << 40,
		},
		{
			Row: Row{Name: "sandbox.cacheBytes", Type: TypeBytes, Default: "2GiB", Environment: "VCPHOST_CACHE_BYTES", Flag: "cache-bytes",
				Description: "Disk space for compiled modules; the least recently used ones go first."},
			field: func(s *Settings) any { return &s.Sandbox.CacheBytes }, least: 1, most: math.MaxInt64,
		},
		{
			Row: Row{Name: "sandbox.poolBytes", Type: TypeBytes, Default: "256MiB", Environment: "VCPHOST_POOL_BYTES", Flag: "pool-bytes",
				Description: "Memory that instances of all plugins may hold while they wait for calls. Without a waiting instance a call makes its own."},
			field: func(s *Settings) any { return &s.Sandbox.PoolBytes }, least: 1, most: 1 << 40,
		},
		{
			Row: Row{Name: "sandbox.maxInstances", Type: TypeInt, Default: "256", Environment: "VCPHOST_MAX_INSTANCES", Flag: "max-instances",
				Description: "Calls of WebAssembly plugins that run side by side. Others wait, and plugins take turns."},
			field: func(s *Settings) any { return &s.Sandbox.MaxInstances }, least: 1, most: 1 << 20,
		},
		{
			Row: Row{Name: "sandbox.allowShared", Type: TypeBool, Default: "false", Environment: "VCPHOST_ALLOW_SHARED", Flag: "allow-shared",
				Description: "Whether plugins may ask for the isolation shared, in which a call finds what earlier calls left. Others are refused."},
			field: func(s *Settings) any { return &s.Sandbox.AllowShared },
		},
	}
}
