package registry

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"vcphost/internal/rawjson"
)

// readConfig reads the configSchema, in which a field is an object or just the
// name of its type.
func (r *reader) readConfig(v value) {
	r.manifest.ConfigSchema = make(map[string]ConfigField)
	for key, field := range v.members() {
		if strings.TrimSpace(key) == "" || hasControl(key) || strings.ContainsRune(key, '=') {
			field.complain("%s is no name of a configuration value", quoted(key))
			continue
		}
		if rawjson.KindOf(field.raw) == rawjson.String {
			r.manifest.ConfigSchema[key] = ConfigField{Type: configType(field)}
			continue
		}
		if !field.is(rawjson.Object) {
			continue
		}
		field.unknown(false, "type", "default", "description", "required", "min", "max", "enum", "sensitive")
		c := ConfigField{
			Type:        configType(field.member("type")),
			Description: field.member("description").text(),
			Required:    field.member("required").flag(false),
		}
		c.Default = configDefault(field.member("default"), c.Type)
		r.manifest.ConfigSchema[key] = c
	}
}

// configType reads the type of a field. Legacy manifests write "float" and
// whole sentences; those are numbers and strings.
func configType(v value) string {
	if v.present() && v.lenient && rawjson.KindOf(v.raw) == rawjson.String {
		kind, _ := rawjson.Unquote(v.raw)
		switch {
		case kind == "float":
			return "number"
		case !slices.Contains(configTypes(), kind):
			v.notice(v.pointer, "unknown type %s is taken as string", quoted(kind))
			return "string"
		}
	}
	if kind := oneOf(v, configTypes()...); kind != "" {
		return kind
	}
	return "string"
}

func configTypes() []string { return []string{"string", "integer", "number", "boolean"} }

// configDefault reads a default. Null, and an empty string for another type,
// mean none; a string that spells a value of the type stands for it. Anything
// else is refused, in a legacy manifest too: "12abc" is no integer.
func configDefault(v value, kind string) json.RawMessage {
	if !v.present() || rawjson.KindOf(v.raw) == rawjson.Null {
		return nil
	}
	raw := bytes.TrimSpace(v.raw)
	if text, ok := rawjson.Unquote(raw); ok {
		if kind == "string" {
			return raw
		}
		if text == "" {
			return nil
		}
		raw = []byte(strings.TrimSpace(text))
	}
	fits := false
	switch kind {
	case "string":
		v.complain("must be a string")
		return nil
	case "integer":
		_, err := strconv.ParseInt(string(raw), 10, 64)
		fits = err == nil && json.Valid(raw)
	case "number":
		fits = rawjson.KindOf(raw) == rawjson.Number && json.Valid(raw)
	case "boolean":
		raw = bytes.ToLower(raw)
		fits = string(raw) == "true" || string(raw) == "false"
	}
	if !fits {
		v.refuse("%s is not of type %s", quoted(string(v.raw)), kind)
		return nil
	}
	return raw
}
