// Package registry finds plugins, reads and checks their manifests, and keeps
// what it found as one immutable [Snapshot].
//
// A plugin is a folder with a file plugin-manifest.json, or
// plugin-manifest.json.block for one that is known and disabled. A [Source] is
// a folder of such folders, or is itself one.
//
// # What it promises
//
//   - A plugin that breaks a rule is refused and stays visible, with the file,
//     the JSON pointer and the reason of every rule that it breaks. It never
//     hurts another plugin.
//   - Nothing of a plugin outside its own folder is ever opened: neither "..",
//     nor an absolute path, nor a link leads out.
//   - Every schema is compiled when the plugin is loaded and cached with its
//     command; a call compiles nothing.
//   - A plugin runs nothing here. At most "node --version" and "python3
//     --version" of the machine are run, where a manifest asks for a version.
//   - A [Snapshot], and everything reachable from it, is read-only and safe for
//     concurrent use. Reload replaces it as a whole; a reader of the old one is
//     not disturbed.
//
// # Strict and legacy manifests
//
// A manifest with toolResultProtocol, and every manifest of a sandboxed plugin,
// is strict: a member of the wrong type, or a command without both schemas,
// refuses it. Any other manifest is a legacy one of a process plugin: it needs a
// name, a pluginType and an entryPoint, and whatever else is odd in it becomes a
// notice. Inside "sandbox" everything is strict, unknown keys included, because
// a misspelt limit must not pass for a limit.
//
// Rules are those of the VCP Tool Result Protocol 1.0 §9.3 and §15.
package registry
