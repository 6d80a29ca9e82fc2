package validate

import (
	"math/big"
	"slices"

	"vcphost/internal/rawjson"
)

// keywordKind is the shape that the value of a keyword must have.
type keywordKind uint8

const (
	asAny         keywordKind = iota // annotations: any value
	asText                           // annotations: a string
	asFlag                           // annotations: true or false
	asList                           // annotations: an array
	asDefinitions                    // schemas by name that apply to nothing by themselves
	asIdentity                       // names and references
	lastAnnotation
	asUnsupported
	asSchema            // applies to a part of the value
	asSchemaInPlace     // applies to the same value
	asSchemaMap         // schemas by name that apply to parts of the value
	asDependent         // schemas by name that apply to the same value
	asSchemaList        // apply to parts of the value
	asSchemaListInPlace // apply to the same value
	asUnique
	asCount
	asNumber
	asPositive
	asNames
	asNamesMap
	asType
	asEnum
	asPattern
	asFormat
	asValue // any value, and it asserts
)

// keywords is the vocabulary. A keyword that is not in it is an annotation.
func keywords() map[string]keywordKind {
	return map[string]keywordKind{
		"$schema": asIdentity, "$id": asIdentity, "$anchor": asIdentity, "$ref": asIdentity,
		"$comment": asText, "title": asText, "description": asText,
		"contentEncoding": asText, "contentMediaType": asText, "contentSchema": asSchema,
		"deprecated": asFlag, "readOnly": asFlag, "writeOnly": asFlag, "default": asAny, "examples": asList,
		"$defs": asDefinitions, "definitions": asDefinitions,

		"$dynamicRef": asUnsupported, "$dynamicAnchor": asUnsupported, "$vocabulary": asUnsupported,
		"$recursiveRef": asUnsupported, "$recursiveAnchor": asUnsupported,
		"dependencies": asUnsupported, "additionalItems": asUnsupported,

		"allOf": asSchemaListInPlace, "anyOf": asSchemaListInPlace, "oneOf": asSchemaListInPlace,
		"not": asSchemaInPlace, "if": asSchemaInPlace, "then": asSchemaInPlace, "else": asSchemaInPlace,
		"dependentSchemas": asDependent,
		"prefixItems":      asSchemaList, "items": asSchema, "contains": asSchema, "unevaluatedItems": asSchema,
		"properties": asSchemaMap, "patternProperties": asSchemaMap, "additionalProperties": asSchema,
		"propertyNames": asSchema, "unevaluatedProperties": asSchema,

		"type": asType, "enum": asEnum, "const": asValue, "pattern": asPattern, "format": asFormat,
		"multipleOf": asPositive, "maximum": asNumber, "exclusiveMaximum": asNumber,
		"minimum": asNumber, "exclusiveMinimum": asNumber,
		"maxLength": asCount, "minLength": asCount, "maxItems": asCount, "minItems": asCount,
		"maxContains": asCount, "minContains": asCount, "maxProperties": asCount, "minProperties": asCount,
		"uniqueItems": asUnique, "required": asNames, "dependentRequired": asNamesMap,
	}
}

// checkAssertion checks the value of a keyword that holds no schemas.
func checkAssertion(kind keywordKind, at string, value []byte) *SchemaError {
	switch kind {
	case asCount:
		n, err := number(at, value)
		if err == nil && (!n.IsInt() || n.Sign() < 0 || n.Cmp(big.NewRat(1<<53, 1)) > 0) {
			return refuse(at, "%s is not a count: an integer from 0 to 2^53", got(value))
		}
		return err
	case asNumber, asPositive:
		n, err := number(at, value)
		if err == nil && kind == asPositive && n.Sign() <= 0 {
			return refuse(at, "%s is not above 0", got(value))
		}
		return err
	case asNames:
		return checkNames(at, value)
	case asNamesMap:
		if err := want(at, value, rawjson.Object); err != nil {
			return err
		}
		for name, list := range rawjson.Members(value) {
			if err := checkNames(rawjson.AppendPointer(at, name), list); err != nil {
				return err
			}
		}
	case asType:
		return checkType(at, value)
	case asEnum:
		if err := want(at, value, rawjson.Array); err != nil {
			return err
		}
		if rawjson.Len(value) == 0 {
			return refuse(at, "an enum without values allows nothing")
		}
	case asPattern, asFormat:
		text, ok := rawjson.Unquote(value)
		switch {
		case !ok:
			return want(at, value, rawjson.String)
		case kind == asPattern:
			return checkPattern(at, text)
		}
		return checkFormat(at, text)
	}
	return nil
}

func checkNames(at string, value []byte) *SchemaError {
	if err := want(at, value, rawjson.Array); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, raw := range rawjson.Elements(value) {
		name, ok := rawjson.Unquote(raw)
		if !ok {
			return refuse(at, "%s is not the name of a member", got(raw))
		}
		if seen[name] {
			return refuse(at, "the name %.100q is there twice", name)
		}
		seen[name] = true
	}
	return nil
}

func checkType(at string, value []byte) *SchemaError {
	if rawjson.KindOf(value) != rawjson.Array {
		return checkTypeName(at, value)
	}
	if rawjson.Len(value) == 0 {
		return refuse(at, "a list of types must not be empty")
	}
	for _, raw := range rawjson.Elements(value) {
		if err := checkTypeName(at, raw); err != nil {
			return err
		}
	}
	return nil
}

func checkTypeName(at string, raw []byte) *SchemaError {
	types := []string{"null", "boolean", "integer", "number", "string", "array", "object"}
	if name, ok := rawjson.Unquote(raw); !ok || !slices.Contains(types, name) {
		return refuse(at, "%s is not a type; types are %q", got(raw), types)
	}
	return nil
}

func want(at string, value []byte, kind rawjson.Kind) *SchemaError {
	if rawjson.KindOf(value) != kind {
		return refuse(at, "expected %s, got %s", article(kind), got(value))
	}
	return nil
}

func number(at string, value []byte) (*big.Rat, *SchemaError) {
	if err := want(at, value, rawjson.Number); err != nil {
		return nil, err
	}
	n, ok := new(big.Rat).SetString(string(value))
	if !ok {
		return nil, refuse(at, "%s cannot be read", got(value))
	}
	return n, nil
}
