// Package human presents a result to people and to programs that want all of
// it: the canonical result as JSON, as far as the viewer may see it (VCP Tool
// Result Protocol 1.0 §9.1).
//
// The wire form is one JSON object with every member of §5.4. data is the bytes
// that the host keeps, with every number, space and member order as the plugin
// wrote it. aiAdvice is kept as any other member and never acted on (§5.9).
package human

import (
	"bytes"
	"encoding/json"
	"fmt"

	"vcphost/abi"
	"vcphost/internal/rawjson"
	"vcphost/presenters"
)

// Present gives the result as one JSON object. data is byte for byte what is
// stored. It fails only for a result that cannot be written as JSON, such as
// one whose extensions hold broken JSON.
func Present(v *presenters.View) ([]byte, error) {
	envelope := v.Envelope()
	raw, err := abi.Encode(envelope)
	if err != nil {
		return nil, fmt.Errorf("present result %s: %w", envelope.ID, err)
	}
	return rawjson.SetMember(plainAngles(raw), "data", v.Data()), nil
}

// PresentIndent gives the result as Present does, with line breaks and indent
// once for each level, for terminals. Numbers, strings and the order of members
// stay as they are; only white space differs.
func PresentIndent(v *presenters.View, indent string) ([]byte, error) {
	raw, err := Present(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Grow(len(raw) + len(raw)/4)
	if err := json.Indent(&out, raw, "", indent); err != nil {
		return nil, fmt.Errorf("indent result %s: %w", v.Envelope().ID, err)
	}
	return out.Bytes(), nil
}

// plainAngles undoes the escaping of <, > and & that encoding/json does for the
// sake of HTML pages, which nobody who reads JSON needs. It works in place.
func plainAngles(raw []byte) []byte {
	out := raw[:0]
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		if i+6 <= len(raw) {
			if c, ok := angle(raw[i : i+6]); ok {
				out = append(out, c)
				i += 5
				continue
			}
		}
		out = append(out, raw[i], raw[i+1])
		i++
	}
	return out
}

func angle(escape []byte) (byte, bool) {
	switch string(escape) {
	case `\u003c`:
		return '<', true
	case `\u003e`:
		return '>', true
	case `\u0026`:
		return '&', true
	}
	return 0, false
}
