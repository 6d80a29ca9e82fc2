package abi

import (
	"bytes"
	"encoding/json"
)

// Encode writes v as JSON in one line, as [json.Marshal] does but for the
// escapes of '<', '>' and '&', which a result is not read by a browser for:
// strings of a plugin come out as it wrote them.
func Encode(v any) ([]byte, error) {
	switch known := v.(type) {
	case *Result:
		return known.MarshalJSON() // which is Encode's own form, and need not be compacted again
	case *Invocation:
		return known.MarshalJSON()
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
