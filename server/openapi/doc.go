// Package openapi writes the description of an HTTP API: an OpenAPI 3.1
// document, in which every command of every plugin is an operation of its own.
//
// It knows nothing of routes and handlers. Its caller lists operations, tools
// and named schemas in a [Source], and [Build] makes the document.
//
// # What it promises
//
//   - The same source gives the same bytes.
//   - Every reference in the document resolves within it. Schemas of plugins come
//     with references to vcp:resource, to anchors and to places of their own;
//     all of them are rewritten.
//   - Every component is used. What no operation leads to is left out.
//   - Bytes of a schema that are no keyword of JSON Schema 2020-12 stay as they
//     are: constants, defaults and examples are never touched.
//
// # Names
//
// A command C of a tool T is POST /v1/tools/T/C. Its schemas are the components
// T.C.Input, T.C.Output and T.C.Result, and what a schema has under $defs is a
// component under the schema's name, a dot and its own. Characters that a
// component must not have become '_'.
package openapi
