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
//	success, partial, accepted   200   an object as it is, an array bare, nothing for
//	                                   null, other data under original_plugin_output;
//	                                   of a text that is JSON that JSON is the data
//	… that is {"status":"error"} 500   as an error of the plugin
//	errors of the plugin         500   {"plugin_error": message, …}, and the data, if
//	                                   there are any, under result
//	approval rejected            500   … with "error_type" and "rejected_by_user"
//	approval timed out           500   … without a timestamp
//	other failures               500   {"plugin_execution_error": message, …}
//	unknown tool                 500   {"error": "Internal Server Error", "details": …}
//
// Errors of the plugin are also those that the host finds in its stead, such as
// wrong arguments.
func Present(v *presenters.View) (status int, body []byte) {
	result := v.Envelope()
	if result.Status.OK() {
		return success(opened(v.Data()), result)
	}
	if code(result) == abi.CodeToolNotFound {
		out := rawjson.SetMember([]byte("{}"), "error", quote("Internal Server Error"))
		return 500, rawjson.SetMember(out, "details", quote(`[PluginManager] Plugin "`+result.Tool.Name+`" not found for tool call.`))
	}
	body = failure(v.Data(), result)
	if code(result) == abi.CodeApprovalTimeout {
		return 500, named(body, result)
	}
	return 500, stamp(body, result)
}

// opened gives the JSON that a text holds, once; plugins of old could answer
// with nothing but text.
func opened(data []byte) []byte {
	text, ok := rawjson.Unquote(data)
	if !ok || rawjson.Check([]byte(text), rawjson.Limits{}) != nil {
		return data
	}
	value, _ := rawjson.At([]byte(text), "")
	return value
}

func success(data []byte, result *abi.Result) (status int, body []byte) {
	switch rawjson.KindOf(data) {
	case rawjson.Array:
		return 200, append([]byte(nil), data...)
	case rawjson.Object:
		if message, failed := failedInside(data); failed {
			return 500, stamp(rawjson.SetMember([]byte("{}"), "plugin_error", quote(message)), result)
		}
		return 200, stamp(append([]byte(nil), data...), result)
	case rawjson.Null, rawjson.Invalid:
		return 200, stamp([]byte("{}"), result)
	}
	return 200, stamp(rawjson.SetMember([]byte("{}"), "original_plugin_output", data), result)
}

// failedInside reports whether data say themselves that the plugin failed.
func failedInside(data []byte) (message string, failed bool) {
	value, _ := rawjson.At(data, "/status")
	if status, ok := rawjson.Unquote(value); !ok || status != "error" {
		return "", false
	}
	value, _ = rawjson.At(data, "/error")
	return rawjson.Unquote(value)
}

func code(result *abi.Result) string {
	if result.Error == nil {
		return ""
	}
	return result.Error.Code
}

func failure(data []byte, result *abi.Result) []byte {
	out := []byte("{}")
	if kind := rawjson.KindOf(data); kind != rawjson.Null && kind != rawjson.Invalid {
		out = rawjson.SetMember(out, "result", data)
	}
	message, member := "", "plugin_execution_error"
	if result.Error != nil {
		message = result.Error.Message
		if category := result.Error.Category; !category.HostOnly() || category == abi.CategoryApproval {
			member = "plugin_error"
		}
	}
	if message == "" {
		message = `Plugin "` + result.Tool.Name + `" reported an unspecified error.`
	}
	out = rawjson.SetMember(out, member, quote(message))
	if code(result) == abi.CodeApprovalRejected {
		out = rawjson.SetMember(out, "error_type", quote("approval_rejected"))
		out = rawjson.SetMember(out, "rejected_by_user", []byte("true"))
	}
	return out
}

// stamp adds what the older core added to every object.
func stamp(object []byte, result *abi.Result) []byte {
	at := time.Time(result.Execution.FinishedAt).Format(timestampLayout)
	return rawjson.SetMember(named(object, result), "timestamp", quote(at))
}

func named(object []byte, result *abi.Result) []byte {
	if result.Actor != nil && result.Actor.Maid != nil {
		return rawjson.SetMember(object, "MaidName", quote(*result.Actor.Maid))
	}
	return object
}

func quote(s string) []byte { return rawjson.Quote(nil, s) }
