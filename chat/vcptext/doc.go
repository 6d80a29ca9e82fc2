// Package vcptext reads the text form of tool calls: blocks that a language
// model, or a person with curl, writes between other text. It is syntax only: it
// knows no plugin and runs nothing.
//
//	<<<[TOOL_REQUEST]>>>
//	tool_name:「始」Plot「末」,
//	maid:「始」Nova「末」,
//	title:「始ESCAPE」about 「末」 marks「末ESCAPE」
//	<<<[END_TOOL_REQUEST]>>>
//
// # Grammar
//
//	text   = any { block any }            any holds neither start nor end marker
//	block  = "<<<[TOOL_REQUEST]>>>" { space | "," | field } "<<<[END_TOOL_REQUEST]>>>"
//	field  = key [space] ":" [space] value
//	key    = ( letter | digit | "_" ) { letter | digit | mark | "_" | "-" | "." }
//	value  = "「始」" text up to the first "「末」"
//	       | "「始ESCAPE」" text up to the first "「末ESCAPE」"
//
// Letters, digits and marks are those of Unicode, white space is that of
// ECMAScript, which counts the byte order mark. ESCAPE is read in any case, and
// { } may stand for the brackets of the two ESCAPE marks. The white space around
// a value is cut off. In an ESCAPE value the tokens <<<[TOOL_REQUEST_ESCAPE]>>>,
// <<<[END_TOOL_REQUEST_ESCAPE]>>> and 「始ESCAPE」 stand for the ones without
// ESCAPE; in a plain value they are text.
//
// # Kept from older readers of this form
//
// Markers and control keys are exact, in case too ("Maid" is an ordinary
// parameter). Any number of commas, or none, separates fields. An opening mark
// inside a value is text. The last of equal keys wins, with a [Notice]. A marker
// inside an ESCAPE value is text. valet counts as maid where that is absent. maid
// and valet also reach a plugin that has no schema, or whose schema names them.
//
// # Refused, where older readers guess or stay silent
//
// A block that does not end; an end marker without its block; a block within a
// block; a value that does not end, or not before the end marker; text between
// fields, comments and full-width colons and commas among it; a key without a
// value; no tool_name, an empty one or two of them; text without a block; bytes
// that are not UTF-8. Loose marks ({始}, <<[tool_request]>>) are not read. A key
// may hold hyphens and letters of any script, where older readers take a part
// of it: "IMAGE-SIZE" is one key, not "SIZE".
//
// # Arguments
//
// [Calls] makes the arguments of calls of a block: names matched with those of the
// input schema, values typed by it, and command1 … commandN cut into calls.
//
// Everything here is linear in the length of the text, and safe for concurrent
// use.
package vcptext
