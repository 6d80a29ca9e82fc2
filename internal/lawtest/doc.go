// Package lawtest holds the rules of the architecture as tests: which package
// may import which, who owns a third-party module, that every package and every
// exported name is documented, and how long files and functions may be. It has
// no code of its own.
package lawtest
