package validate

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// payloadMembers is the structure of §5.2. A member that is optional may be null,
// except for the lists and the extensions, which are left out instead.
func payloadMembers() members {
	return members{required: []string{"status", "data"}, checks: map[string]check{
		"status":       one(abi.Statuses()),
		"data":         nil,
		"resources":    each((*payloadReader).draft),
		"warnings":     each(object(warningMembers)),
		"error":        orNull(object(errorMembers)),
		"task":         orNull(object(taskMembers)),
		"presentation": orNull(object(presentationMembers)),
		"aiAdvice":     orNull(object(adviceMembers)),
		"extensions":   (*payloadReader).extensions,
	}}
}

// warningMembers is the structure of §5.7.
func warningMembers() members {
	return members{required: []string{"code", "message"}, checks: map[string]check{
		"code": code, "message": text(0, 0), "target": orNull(text(0, 0)), "details": orNull(kind(rawjson.Object)),
	}}
}

// errorMembers is the structure of §6.1; the host fills category and retryable.
func errorMembers() members {
	return members{required: []string{"code", "message"}, checks: map[string]check{
		"code": code, "message": text(0, 0), "category": orNull(one(abi.Categories())),
		"retryable": orNull(kind(rawjson.Bool)), "target": orNull(text(0, 0)),
		"details": orNull(kind(rawjson.Object)), "cause": kind(rawjson.Null),
	}}
}

// taskMembers is the structure of the task in §5.2.
func taskMembers() members {
	return members{required: []string{"id", "state"}, checks: map[string]check{
		"id": text(1, maxTaskIDBytes), "state": one(abi.TaskStates()), "progress": orNull(fraction),
		"pollAfterMs": orNull(integer(maxMilliseconds)), "placeholder": orNull(text(0, 0)),
	}}
}

// presentationMembers is the structure of §5.8.
func presentationMembers() members {
	return members{checks: map[string]check{
		"summary": orNull(text(0, 0)), "preferredView": orNull(text(0, 0)),
		"title": orNull(text(0, 0)), "primaryResourceId": orNull(text(0, 0)),
	}}
}

// adviceMembers is the structure of §5.9.
func adviceMembers() members {
	return members{required: []string{"intent", "resourceIds", "priority"}, checks: map[string]check{
		"intent": one(abi.Intents()), "message": orNull(text(0, maxAdviceBytes)), "resourceIds": each(text(0, 0)),
		"renderHint": orNull(one(abi.RenderHints())), "priority": one(abi.Priorities()),
	}}
}

// draftMembers is the structure of §7.4, with what §7.1 has beyond it.
func draftMembers() members {
	return members{required: []string{"id"}, checks: map[string]check{
		"id": text(1, abi.MaxDraftIDBytes), "kind": orNull(one(abi.ResourceKinds())), "role": orNull(one(abi.ResourceRoles())),
		"mimeType": orNull(text(0, abi.MaxMIMETypeBytes)), "fileName": orNull(text(0, abi.MaxFileNameBytes)), "localPath": orNull(text(0, 0)),
		"source": orNull(object(sourceMembers)), "dimensions": orNull(object(dimensionMembers)),
		"durationMs": orNull(integer(maxMilliseconds)), "metadata": orNull(metadata),
	}}
}

func sourceMembers() members {
	return members{required: []string{"type"}, checks: map[string]check{
		"type": one(abi.SourceTypes()), "provider": orNull(text(0, 0)),
	}}
}

func dimensionMembers() members {
	return members{required: []string{"width", "height"}, checks: map[string]check{
		"width": integer(1<<31 - 1), "height": integer(1<<31 - 1),
	}}
}

func (r *payloadReader) draft(pointer string, value []byte) *abi.Error {
	if err := r.object(pointer, value, draftMembers()); err != nil {
		return err
	}
	raw, _ := member(value, "id")
	id, _ := rawjson.Unquote(raw)
	if r.drafts[id] {
		return invalidResult(pointer+"/id", "an id that no other resource of the payload has", got(raw), "the id is there twice")
	}
	r.drafts[id] = true
	return nil
}

func (r *payloadReader) extensions(pointer string, value []byte) *abi.Error {
	if err := kind(rawjson.Object)(r, pointer, value); err != nil {
		return err
	}
	for key, inner := range rawjson.Members(value) {
		at := rawjson.AppendPointer(pointer, cut(key))
		if !abi.ValidExtensionKey(key) {
			return invalidResult(at, `a key below a namespace, such as "vendor.example"`, shown(key), "the key is not valid")
		}
		if abi.ReservedExtensionKey(key) {
			return invalidResult(at, "no key that the host writes", got(inner), "the key is reserved")
		}
	}
	return nil
}

// object holds a value against a structure, which is made when there is such a
// value: most payloads have few of them.
func object(structure func() members) check {
	return func(r *payloadReader, pointer string, value []byte) *abi.Error {
		return r.object(pointer, value, structure())
	}
}

func orNull(rule check) check {
	return func(r *payloadReader, pointer string, value []byte) *abi.Error {
		if rawjson.KindOf(value) == rawjson.Null {
			return nil
		}
		return rule(r, pointer, value)
	}
}

func each(rule check) check {
	return func(r *payloadReader, pointer string, value []byte) *abi.Error {
		if err := kind(rawjson.Array)(r, pointer, value); err != nil {
			return err
		}
		for index, element := range rawjson.Elements(value) {
			if err := rule(r, pointer+"/"+strconv.Itoa(index), element); err != nil {
				return err
			}
		}
		return nil
	}
}

func kind(wanted rawjson.Kind) check {
	return func(_ *payloadReader, pointer string, value []byte) *abi.Error {
		if rawjson.KindOf(value) != wanted {
			return invalidResult(pointer, article(wanted), got(value), "the type is wrong")
		}
		return nil
	}
}

// text is a string of least to most bytes; most 0 means no bound of its own.
func text(least, most int) check {
	return func(r *payloadReader, pointer string, value []byte) *abi.Error {
		if err := kind(rawjson.String)(r, pointer, value); err != nil {
			return err
		}
		s, _ := rawjson.Unquote(value)
		switch {
		case len(s) < least:
			return invalidResult(pointer, "a string that is not empty", got(value), "the string is too short")
		case most > 0 && len(s) > most:
			return invalidResult(pointer, fmt.Sprintf("at most %d bytes", most), fmt.Sprintf("%d bytes", len(s)), "the string is too long")
		}
		return nil
	}
}

func one[T ~string](allowed []T) check {
	return func(r *payloadReader, pointer string, value []byte) *abi.Error {
		s, isText := rawjson.Unquote(value)
		if isText && slices.Contains(allowed, T(s)) {
			return nil
		}
		words := make([]string, 0, len(allowed))
		for _, a := range allowed {
			words = append(words, shown(string(a)))
		}
		return invalidResult(pointer, oneOf(words), got(value), "the value is not allowed")
	}
}

func code(r *payloadReader, pointer string, value []byte) *abi.Error {
	s, isText := rawjson.Unquote(value)
	if !isText || !abi.ValidCode(s) {
		return invalidResult(pointer, `a code such as "INVALID_ARGUMENT" or "VENDOR.REASON"`, got(value), "the code is not valid")
	}
	return nil
}

// integer is written without a fraction and an exponent, from 0 to most.
func integer(most int64) check {
	return func(_ *payloadReader, pointer string, value []byte) *abi.Error {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 || n > most {
			return invalidResult(pointer, fmt.Sprintf("an integer from 0 to %d", most), got(value), "the value is not allowed")
		}
		return nil
	}
}

// fraction is a number from 0 to 1, exactly: no rounding lets a little more pass.
func fraction(_ *payloadReader, pointer string, value []byte) *abi.Error {
	f, err := strconv.ParseFloat(string(value), 64)
	allowed := err == nil && f >= 0 && f <= 1 && value[0] != '-' && !hasHugeNumber(value)
	if allowed && f == 1 {
		exact, ok := new(big.Rat).SetString(string(value))
		allowed = ok && exact.Cmp(big.NewRat(1, 1)) <= 0
	}
	if !allowed {
		return invalidResult(pointer, "a number from 0 to 1", got(value), "the value is not allowed")
	}
	return nil
}

func metadata(r *payloadReader, pointer string, value []byte) *abi.Error {
	if err := kind(rawjson.Object)(r, pointer, value); err != nil {
		return err
	}
	if len(value) > abi.MaxMetadataBytes {
		return invalidResult(pointer, fmt.Sprintf("at most %d bytes", abi.MaxMetadataBytes), fmt.Sprintf("%d bytes", len(value)), "the metadata is too large")
	}
	return nil
}
