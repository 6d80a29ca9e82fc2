// Package bench measures the server against bare peers in the same run. It has
// no code of its own.
package bench
