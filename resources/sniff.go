package resources

import (
	"mime"
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// sniffBytes is how much of the beginning of a resource is looked at. It is the
// library's own default limit and must stay that: the library cuts what it is
// given to a limit which is global to the process, and it accepts JSON or CSV
// that stops in the middle only where the input is exactly that long, as it
// takes anything shorter for the whole file.
const sniffBytes = 4096

const octetStream = "application/octet-stream"

// sniffed is the media type of the first bytes. The zero value found nothing.
type sniffed struct {
	mime    string // bare, lower case
	generic bool   // what a file name or a plugin says may be more precise
}

// sniff finds the media type of a resource from its first sniffBytes bytes.
func sniff(prefix []byte) sniffed {
	if len(prefix) == 0 {
		return sniffed{octetStream, true}
	}
	found := mimetype.Detect(prefix)
	name := bareMIME(found.String())
	if name == "image/apng" {
		// Every APNG is a PNG, and PNG is what consumers' lists of types know; a
		// plugin that says APNG is believed.
		name = "image/png"
	}
	return sniffed{name, isGeneric(name, found)}
}

// isGeneric reports whether a found type says only what the bytes are made of:
// no structure at all, a container of other formats, or text. Among texts only
// those with a signature of their own are certain; CSV and program sources are
// recognised by their looks, and prose with a comma in each line looks like CSV.
func isGeneric(name string, found *mimetype.MIME) bool {
	switch name {
	case octetStream, "text/plain", "application/zip", "text/xml", "application/xml",
		"application/x-ole-storage", "application/gzip", "application/ogg", "application/json":
		return true
	case "image/svg+xml", "text/html", "text/rtf":
		return false
	}
	parent := found.Parent()
	return parent != nil && parent.Is("text/plain")
}

// claims are what is said about a resource apart from its bytes.
type claims struct {
	fileName string
	declared string // by the plugin, or by a server's Content-Type
	trusted  bool   // declared comes from a server, so it ranks above the name
}

// chooseMIME settles the media type by the order of VCP Tool Result Protocol
// 1.0 §7.5: the bytes, a trusted declaration, the file name's extension, the
// plugin's declaration, application/octet-stream. Where the bytes are generic,
// the next source that they do not disprove wins. The mismatch names the claim
// that the bytes disprove, the plugin's own before that of the file name.
func chooseMIME(found sniffed, c claims) (string, *Mismatch) {
	declared := bareMIME(c.declared)
	extension := typeOfExtension(strings.ToLower(path.Ext(c.fileName)))
	var mismatch *Mismatch
	for _, claim := range []string{declared, extension} {
		if claim != "" && disproved(claim, found) {
			mismatch = &Mismatch{Declared: claim, Found: found.mime}
			break
		}
	}
	order := []string{extension, declared}
	if c.trusted {
		order = []string{declared, extension}
	}
	for _, claim := range order {
		if claim == "" || claim == octetStream || disproved(claim, found) {
			continue
		}
		if found.generic || refines(claim, found.mime) {
			return claim, mismatch
		}
	}
	return found.mime, mismatch
}

// disproved reports whether the bytes cannot be of the claimed type: they are
// certainly of another one, or the claimed one has a signature that nothing of
// that type lacks.
func disproved(claim string, found sniffed) bool {
	if claim == octetStream || sameMIME(claim, found.mime) || refines(claim, found.mime) {
		return false
	}
	if !found.generic {
		// A DOCX is a ZIP, but HTML that is called text would be shown as such.
		return claim == "text/plain" || !refines(found.mime, claim)
	}
	return hasSureSignature(claim)
}

// hasSureSignature reports whether every file of the type begins in a way that
// sniffing always finds.
func hasSureSignature(claim string) bool {
	for m := mimetype.Lookup(claim); m != nil; m = m.Parent() {
		switch m.String() {
		case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp",
			"application/pdf", "application/zip", "application/gzip", "application/wasm":
			return true
		}
	}
	return false
}

// refines reports whether narrow is a special case of wide, as DOCX is of ZIP.
func refines(narrow, wide string) bool {
	m := mimetype.Lookup(narrow)
	if m == nil {
		return false
	}
	for m = m.Parent(); m != nil; m = m.Parent() {
		// Everything is a special case of an unknown type; that says nothing.
		if !m.Is(octetStream) && m.Is(wide) {
			return true
		}
	}
	return false
}

func sameMIME(a, b string) bool {
	m := mimetype.Lookup(b)
	return a == b || m != nil && m.Is(a)
}

// bareMIME is a media type in lower case without parameters, under its usual
// name; "" for what is none.
func bareMIME(s string) string {
	if s == "" {
		return ""
	}
	bare, _, err := mime.ParseMediaType(s)
	if err != nil && bare == "" {
		return ""
	}
	switch bare {
	case "image/jpg", "image/pjpeg":
		return "image/jpeg"
	case "audio/mp3":
		return "audio/mpeg"
	case "text/json":
		return "application/json"
	case "application/csv":
		return "text/csv"
	case "text/x-markdown":
		return "text/markdown"
	}
	return bare
}
