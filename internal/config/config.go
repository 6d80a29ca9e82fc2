package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"vcphost/internal/rawjson"
)

// Key is one entry of a configSchema.
type Key struct {
	Name    string
	Type    string          // string, integer, number or boolean; empty means string
	Default json.RawMessage // nil when there is none
}

// Lookup finds the text of a value.
type Lookup func(name string) (string, bool)

// Resolve gives the values of all keys that have one. A value that is not of
// its key's type is refused; all such values are reported together.
func Resolve(keys []Key, lookups ...Lookup) (map[string]string, error) {
	values := map[string]string{}
	var errs []error
	for _, key := range keys {
		value, ok := find(key, lookups)
		if !ok {
			continue
		}
		if err := check(key, value); err != nil {
			errs = append(errs, err)
			continue
		}
		values[key.Name] = value
	}
	return values, errors.Join(errs...)
}

func find(key Key, lookups []Lookup) (string, bool) {
	for _, lookup := range lookups {
		if value, ok := lookup(key.Name); ok {
			return value, true
		}
	}
	if len(key.Default) == 0 || rawjson.KindOf(key.Default) == rawjson.Null {
		return "", false
	}
	if text, ok := rawjson.Unquote(key.Default); ok {
		return text, true
	}
	return string(key.Default), true
}

// check holds a value against its key's type; "12abc" is no integer.
func check(key Key, value string) error {
	var err error
	switch key.Type {
	case "integer":
		_, err = strconv.ParseInt(value, 10, 64)
	case "number":
		_, err = strconv.ParseFloat(value, 64)
	case "boolean":
		if !slices.Contains([]string{"true", "false"}, value) {
			err = errors.New("neither true nor false")
		}
	case "", "string":
	default:
		err = errors.New("a type that no value can have")
	}
	if err != nil {
		return fmt.Errorf("configuration %s is no %s: %w", key.Name, key.Type, err)
	}
	return nil
}
