package openapi

import (
	"encoding/json"
	"fmt"
	"strings"

	"vcphost/abi"
)

// problemSchema describes application/problem+json with the types that there
// are.
func problemSchema(types []ProblemType) json.RawMessage {
	var about strings.Builder
	about.WriteString("An error that is no tool result (RFC 9457). Further members may be there.\n\n| type | status | title | when |\n|---|---|---|---|\n")
	names := make([]string, 0, len(types))
	for _, t := range types {
		names = append(names, t.Type)
		fmt.Fprintf(&about, "| `%s` | %d | %s | %s |\n", t.Type, t.Status, t.Title, t.Description)
	}
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	kind := text("what kind of error it is; stable")
	if len(names) > 0 {
		kind["enum"] = names
	}
	raw, err := abi.Encode(map[string]any{
		"type": "object", "description": about.String(),
		"properties": map[string]any{
			"type":              kind,
			"title":             text("the kind in words"),
			"status":            map[string]any{"type": "integer", "minimum": 400, "maximum": 599},
			"detail":            text("what is wrong with this request"),
			"instance":          text("the path of the request"),
			"requestId":         text("under which the server's log has the request; also in X-Request-Id"),
			"pointer":           text("RFC 6901, into the body of the request"),
			"retryAfterSeconds": map[string]any{"type": "integer", "minimum": 1},
		},
		"required": []string{"type", "title", "status", "requestId"},
	})
	if err != nil {
		return json.RawMessage(`{}`) // maps of texts and numbers always encode
	}
	return raw
}

func problemResponse() *response {
	headers := requestIDHeaders()
	headers["Retry-After"] = map[string]any{
		"description": "seconds after which another try makes sense",
		"schema":      map[string]any{"type": "integer", "minimum": 0},
	}
	return &response{
		Description: "The request was not carried out; the problem says why.", Headers: headers,
		Content: map[string]mediaType{problemType: {Schema: reference{componentPrefix + ProblemSchema}}},
	}
}

func requestIDHeaders() map[string]any {
	return map[string]any{"X-Request-Id": reference{"#/components/headers/" + requestID}}
}

func requestIDHeader() map[string]any {
	return map[string]any{
		"description": "id of the request: the caller's if it was harmless, else the server's own",
		"schema":      map[string]any{"type": "string"},
	}
}

func requestIDParameter() map[string]any {
	return map[string]any{
		"name": "X-Request-Id", "in": "header",
		"description": "names the request in results, logs and for stopping it; the server makes one where it is missing",
		"schema":      map[string]any{"type": "string", "maxLength": 128, "pattern": "^[!-~]+$"},
	}
}
