package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
)

const (
	rowPrefix  = "rec/r/"
	timePrefix = "rec/t/"

	formatVersion = 1
)

// header is the first line of a row.
type header struct {
	Version   int       `json:"v"`
	Owner     abi.Owner `json:"owner"`
	KeptAt    time.Time `json:"keptAt"`
	SizeBytes int       `json:"sizeBytes"`
	Blob      string    `json:"blob,omitempty"`
}

func rowKey(id string) []byte { return []byte(rowPrefix + id) }

func timeKey(at time.Time, id string) []byte {
	return fmt.Appendf(nil, "%s%016x/%s", timePrefix, max(at.UnixMilli(), 0), id)
}

// readTimeKey takes a key of the time index apart.
func readTimeKey(key []byte) (at time.Time, id string, err error) {
	stamp, id, ok := strings.Cut(strings.TrimPrefix(string(key), timePrefix), "/")
	ms, err := strconv.ParseInt(stamp, 16, 64)
	if !ok || err != nil {
		return time.Time{}, "", fmt.Errorf("the key %q is none of the time index", key)
	}
	return time.UnixMilli(ms), id, nil
}

// addTo adds the row of a result and its place in the time index; raw is nil
// where a blob has it.
func (h header) addTo(b *kv.Batch, id string, raw []byte) error {
	line, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	row := make([]byte, 0, len(line)+1+len(raw))
	row = append(append(append(row, line...), '\n'), raw...)
	b.Add(rowKey(id), row)
	b.Set(timeKey(h.KeptAt, id), []byte(h.Blob))
	return nil
}

func readRow(row []byte) (header, []byte, error) {
	line, raw, ok := bytes.Cut(row, []byte{'\n'})
	if !ok {
		return header{}, nil, errors.New("the row has no header")
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return header{}, nil, fmt.Errorf("decode header: %w", err)
	}
	if h.Version != formatVersion {
		return header{}, nil, fmt.Errorf("format version %d is not known, %d was expected", h.Version, formatVersion)
	}
	return h, raw, nil
}
