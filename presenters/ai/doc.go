// Package ai presents a result to a language model: Markdown within a budget of
// code points, independent of any model vendor (VCP Tool Result Protocol 1.0
// §8).
//
// # The text
//
// The order is that of §8.2: status and error, summary, what a typed
// [Renderer] or the generic one makes of the data, resources, warnings, the
// plugin's delivery advice (cleaned, and labelled as advice), and execution
// metadata if it was asked for. Labels are English; the names of members and
// all values are the plugin's own, so that a model can quote them. Members that
// are null are left out.
//
// # What it promises
//
//   - The text never has more code points than Budget.MaxCharacters and is
//     valid UTF-8.
//   - Nothing is cut silently: each cut says "showing N of M" at its place, the
//     text ends with where the whole result is, and Projection.Omitted lists
//     each cut with its JSON pointer and its true count. What is inside of
//     something that is not shown is covered by the entry of the outer one.
//   - All text of a plugin is untrusted. It cannot leave the table cell, list
//     item, quote or fence that it stands in; HTML tags and the control tokens
//     of chat formats are written so that they do not act; control characters
//     become visible, and characters that reorder or hide text are removed.
//   - Data is walked as raw JSON, and only as far as there is room to show it.
package ai
