package api

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"vcphost/server/problem"
)

// digests are the hashes that a client says its bytes have; nil where it says
// none.
type digests []digest

type digest struct {
	header, algorithm string
	want              []byte
	hash              hash.Hash
}

// digestHeaders are those that name a hash of the bytes as they are sent, which
// without a content coding is the hash of the representation as well (RFC 9530,
// and RFC 3230 for Digest).
func digestHeaders() []string { return []string{"Content-Digest", "Repr-Digest", "Digest"} }

// readDigests takes the digest headers, got by name. Algorithms that are not
// known are passed over where a known one stands beside them; a header that
// names none that can be checked is refused, for its client counts on the check.
func readDigests(header func(name string) string) (digests, error) {
	var all digests
	for _, name := range digestHeaders() {
		value := header(name)
		if value == "" {
			continue
		}
		known := 0
		for member := range strings.SplitSeq(value, ",") {
			d, err := parseDigest(name, strings.Trim(member, " \t"))
			if err != nil {
				return nil, problem.BadRequest("the header %s is malformed: %s", name, err)
			}
			if d.hash != nil {
				all = append(all, d)
				known++
			}
		}
		if known == 0 {
			return nil, problem.BadRequest("the header %s names no digest of sha-256 or sha-512", name)
		}
	}
	return all, nil
}

// parseDigest reads algorithm=:base64: or, of the old header, algorithm=base64.
// A digest of an unknown algorithm has no hash.
func parseDigest(header, member string) (digest, error) {
	algorithm, value, ok := strings.Cut(member, "=")
	if !ok || algorithm == "" {
		return digest{}, fmt.Errorf("%.40q is no digest", member)
	}
	d := digest{header: header, algorithm: strings.ToLower(algorithm)}
	if header == "Digest" {
		value = ":" + value + ":"
	} else {
		value, _, _ = strings.Cut(value, ";") // parameters of the member
		value = strings.TrimRight(value, " \t")
	}
	switch d.algorithm {
	case "sha-256":
		d.hash = sha256.New()
	case "sha-512":
		d.hash = sha512.New()
	default:
		return d, nil
	}
	if len(value) < 2 || value[0] != ':' || value[len(value)-1] != ':' {
		return digest{}, fmt.Errorf("the value of %s is not between colons", d.algorithm)
	}
	var err error
	d.want, err = base64.StdEncoding.Strict().DecodeString(value[1 : len(value)-1])
	if err != nil || len(d.want) != d.hash.Size() {
		return digest{}, fmt.Errorf("the value of %s is not the base64 of %d bytes", d.algorithm, d.hash.Size())
	}
	return d, nil
}

// check gives a reader that, in place of the end, fails where the bytes have
// other digests.
func (all digests) check(r io.Reader) io.Reader {
	if len(all) == 0 {
		return r
	}
	// The headers often say the same, and hashing is what a check costs.
	var hashes []io.Writer
	for i, d := range all {
		same := slices.IndexFunc(all[:i], func(other digest) bool { return other.algorithm == d.algorithm })
		if same >= 0 {
			all[i].hash = all[same].hash
		} else {
			hashes = append(hashes, d.hash)
		}
	}
	return &digestReader{from: io.TeeReader(r, io.MultiWriter(hashes...)), wanted: all}
}

type digestReader struct {
	from   io.Reader
	wanted digests
}

// Read implements [io.Reader].
func (d *digestReader) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	if err != io.EOF {
		return n, err
	}
	for _, want := range d.wanted {
		if got := want.hash.Sum(nil); !bytes.Equal(got, want.want) {
			return n, problem.BadRequest("the bytes do not have the digest in %s", want.header).
				With("algorithm", want.algorithm).With("received", base64.StdEncoding.EncodeToString(got))
		}
	}
	return n, io.EOF
}
