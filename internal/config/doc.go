// Package config reads what users set: the settings of the host, and the
// configuration values of plugins. No other package reads the environment.
//
// # Settings of the host
//
// One table, rows, has every setting with its name, type, default, environment
// variable, flag and description. [Load] fills [Settings] from it, [Reference]
// lists it, and docs/configuration.md is made from it. A value comes from the
// first place that has it: flag, environment, file, default. An empty
// environment variable counts as none.
//
// The file is YAML: a mapping of settings to plain values or lists of them, in
// which a dot of a name is one more level. Loading is strict: unknown and
// repeated names, values of another type, anchors, aliases and tags are refused,
// and all problems are reported together, each with its place. Relative paths in
// a file begin at the file's directory.
//
// # Values of plugins
//
// [Resolve] gives a plugin the keys of its own configSchema and no others.
package config
