// Package legacy presents a result in the shape that callers of older systems
// expect: the bare data with MaidName and timestamp beside it, or an error
// object under a status of its own. It is for those callers alone, it loses
// most of the result, and nothing else uses it.
package legacy

import (
	"time"

	"vcphost/abi"
	"vcphost/internal/rawjson"
	"vcphost/presenters"
)

// timestampLayout is the older system's: milliseconds and a numeric zone.
const timestampLayout = "2006-01-02T15:04:05.000-07:00"

// Present gives the HTTP status and the JSON body.
//
//	success, partial, accepted   200   an object as it is, other data under
//	                                   original_plugin_output, an array bare
//	errors of the plugin         500   {"plugin_error": message, …}
//	other failures               500   {"plugin_execution_error": message, …}
//	unknown tool                 500   {"error": "Internal Server Error", "details": …}
func Present(v *presenters.View) (status int, body []byte) {
	result := v.Envelope()
	if result.Status.OK() {
		return 200, stamp(success(v.Data()), result)
	}
	if result.Error != nil && result.Error.Code == abi.CodeToolNotFound {
		out := rawjson.SetMember([]byte("{}"), "error", quote("Internal Server Error"))
		return 500, rawjson.SetMember(out, "details", quote(`[PluginManager] Plugin "`+result.Tool.Name+`" not found for tool call.`))
	}
	return 500, stamp(failure(result), result)
}

func success(data []byte) []byte {
	switch rawjson.KindOf(data) {
	case rawjson.Object, rawjson.Array:
		return append([]byte(nil), data...)
	case rawjson.Null, rawjson.Invalid:
		return []byte("{}")
	}
	return rawjson.SetMember([]byte("{}"), "original_plugin_output", data)
}

func failure(result *abi.Result) []byte {
	message, member := "the tool failed", "plugin_execution_error"
	if result.Error != nil {
		message = result.Error.Message
		if result.Error.Category == abi.CategoryDomain || result.Error.Category == abi.CategoryDependency || result.Error.Category == abi.CategoryApproval {
			member = "plugin_error"
		}
	}
	return rawjson.SetMember([]byte("{}"), member, quote(message))
}

// stamp adds what the older core added to every object. An array goes without,
// as it always did.
func stamp(body []byte, result *abi.Result) []byte {
	if rawjson.KindOf(body) != rawjson.Object {
		return body
	}
	if result.Actor != nil && result.Actor.Maid != nil {
		body = rawjson.SetMember(body, "MaidName", quote(*result.Actor.Maid))
	}
	at := time.Time(result.Execution.FinishedAt).Format(timestampLayout)
	return rawjson.SetMember(body, "timestamp", quote(at))
}

func quote(s string) []byte { return rawjson.Quote(nil, s) }
