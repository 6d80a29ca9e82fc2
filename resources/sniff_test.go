package resources

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"mime"
	"strings"
	"testing"

	"golang.org/x/image/bmp"

	"vcphost/abi"
)

const (
	docxType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	xlsxType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

func picture(encode func(*bytes.Buffer, image.Image) error) []byte {
	img := image.NewPaletted(image.Rect(0, 0, 7, 5), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	if err := encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func pngBytes() []byte {
	return picture(func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) })
}

func jpegBytes() []byte {
	return picture(func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) })
}

func gifBytes() []byte {
	return picture(func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) })
}

func bmpBytes() []byte {
	return picture(func(b *bytes.Buffer, m image.Image) error { return bmp.Encode(b, m) })
}

// riff makes a RIFF file of one chunk.
func riff(form, chunk string, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body)+12))
	b = append(b, form+chunk...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}

// webpBytes is the header of an extended WebP of 7 by 5 pixels.
func webpBytes() []byte { return riff("WEBP", "VP8X", []byte{0, 0, 0, 0, 6, 0, 0, 4, 0, 0}) }

func zipBytes(names ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		f, err := w.Create(name)
		if err != nil {
			panic(err)
		}
		f.Write([]byte("<x/>"))
	}
	w.Close()
	return b.Bytes()
}

// bigFirstZip is a package whose telling entries lie beyond what is sniffed.
func bigFirstZip() []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.CreateHeader(&zip.FileHeader{Name: "[Content_Types].xml", Method: zip.Store})
	f.Write(bytes.Repeat([]byte("<Default/>"), 1000))
	f, _ = w.Create("word/document.xml")
	f.Write([]byte("<x/>"))
	w.Close()
	return b.Bytes()
}

func garbage(n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	b[0], b[1] = 0x00, 0x01
	return b
}

func TestMediaType(t *testing.T) {
	const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`
	longJSON := `{"a":[` + strings.Repeat(`"long enough to be cut",`, 1000) + `1]}`
	tests := []struct {
		name               string
		content            []byte
		fileName, declared string
		want               string
		kind               abi.ResourceKind
		mismatch           string // the disproved claim
	}{
		{"png", pngBytes(), "", "", "image/png", abi.KindImage, ""},
		{"jpeg", jpegBytes(), "", "", "image/jpeg", abi.KindImage, ""},
		{"gif", gifBytes(), "", "", "image/gif", abi.KindImage, ""},
		{"webp", webpBytes(), "", "", "image/webp", abi.KindImage, ""},
		{"bmp", bmpBytes(), "", "", "image/bmp", abi.KindImage, ""},
		{"svg", []byte(svg), "", "", "image/svg+xml", abi.KindImage, ""},
		{"svg after an XML declaration", []byte(`<?xml version="1.0"?>` + svg), "", "", "image/svg+xml", abi.KindImage, ""},
		{"svg known by name alone", []byte("<?xml version=\"1.0\"?>\n<!-- " + strings.Repeat("x", 5000) + "-->" + svg), "a.svg", "", "image/svg+xml", abi.KindImage, ""},
		{"csv", []byte("a,b,c\n1,2,3\n4,5,6\n"), "", "", "text/csv", abi.KindText, ""},
		{"csv by name", []byte("just one column\n1\n2\n"), "prices.CSV", "", "text/csv", abi.KindText, ""},
		{"csv by declaration", []byte("just one column\n1\n2\n"), "", "text/csv; header=present", "text/csv", abi.KindText, ""},
		{"prose that looks like csv", []byte("Well, then\nSo, what\nOh, that\n"), "poem.txt", "", "text/plain", abi.KindText, ""},
		{"json", []byte(`{"a":[1,2,3]}`), "", "", "application/json", abi.KindText, ""},
		{"json longer than what is sniffed", []byte(longJSON), "", "", "application/json", abi.KindText, ""},
		{"geojson by name", []byte(`{"type":"Topology"}`), "map.geojson", "", "application/geo+json", abi.KindText, ""},
		{"docx", zipBytes("[Content_Types].xml", "_rels/.rels", "word/document.xml"), "", "", docxType, abi.KindDocument, ""},
		{"docx known by name alone", bigFirstZip(), "report.docx", "", docxType, abi.KindDocument, ""},
		{"docx known by declaration alone", bigFirstZip(), "", docxType, docxType, abi.KindDocument, ""},
		{"docx called zip", zipBytes("[Content_Types].xml", "_rels/.rels", "word/document.xml"), "", "application/zip", docxType, abi.KindDocument, ""},
		{"xlsx", zipBytes("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml"), "", "", xlsxType, abi.KindDocument, ""},
		{"zip", zipBytes("a.txt"), "", "", "application/zip", abi.KindArchive, ""},
		{"pdf", []byte("%PDF-1.7\n%âãÏÓ\n"), "", "", "application/pdf", abi.KindDocument, ""},
		{"wav", riff("WAVE", "fmt ", make([]byte, 16)), "", "", "audio/wav", abi.KindAudio, ""},
		{"mp3", append([]byte("ID3\x04\x00\x00\x00\x00\x00\x0a\xff\xfb\x90\x00"), make([]byte, 400)...), "", "", "audio/mpeg", abi.KindAudio, ""},
		{"mp4", []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"), "", "", "video/mp4", abi.KindVideo, ""},
		{"mp4 with sound only", []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"), "a.m4a", "", "audio/mp4", abi.KindAudio, ""},
		{"ogg", append([]byte("OggS\x00\x02"), append(make([]byte, 22), "\x01vorbis\x00\x00\x00\x00"...)...), "", "", "audio/ogg", abi.KindAudio, ""},
		{"html", []byte("<!DOCTYPE html><html><body>hi</body></html>"), "", "", "text/html", abi.KindText, ""},
		{"plain text", []byte("Hello, 世界\n"), "", "", "text/plain", abi.KindText, ""},
		{"text as octets", []byte("Hello\n"), "", "application/octet-stream", "text/plain", abi.KindText, ""},
		{"markdown", []byte("# Title\n"), "", "text/x-markdown", "text/markdown", abi.KindText, ""},
		{"xml of its own kind", []byte(`<?xml version="1.0"?><a/>`), "", "application/dita+xml", "application/dita+xml", abi.KindText, ""},
		{"empty", nil, "", "", "application/octet-stream", abi.KindBinary, ""},
		{"empty csv", nil, "a.csv", "", "text/csv", abi.KindText, ""},
		{"garbage", garbage(4096), "", "", "application/octet-stream", abi.KindBinary, ""},
		{"garbage of a known name", garbage(4096), "a.parquet", "", "application/vnd.apache.parquet", abi.KindBinary, ""},
		{"a name outranks a declaration", []byte("a: 1\n"), "a.yaml", "text/plain", "application/yaml", abi.KindText, ""},

		{"png called jpeg", pngBytes(), "", "image/jpeg", "image/png", abi.KindImage, "image/jpeg"},
		{"png in a file called gif", pngBytes(), "a.gif", "", "image/png", abi.KindImage, "image/gif"},
		{"jpeg under its wrong name", jpegBytes(), "", "image/jpg", "image/jpeg", abi.KindImage, ""},
		{"html called text", []byte("<!DOCTYPE html><html></html>"), "", "text/plain", "text/html", abi.KindText, "text/plain"},
		{"html called png", []byte("<!DOCTYPE html><html></html>"), "", "image/png", "text/html", abi.KindText, "image/png"},
		{"text called png", []byte("not a picture"), "a.png", "image/png", "text/plain", abi.KindText, "image/png"},
		{"nothing called png", nil, "a.png", "", "application/octet-stream", abi.KindBinary, "image/png"},
		{"zip called pdf", zipBytes("a"), "a.zip", "application/pdf", "application/zip", abi.KindArchive, "application/pdf"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := sniff(test.content[:min(len(test.content), sniffBytes)])
			got, mismatch := chooseMIME(found, claims{fileName: test.fileName, declared: test.declared})
			if got != test.want || kindOf(got) != test.kind {
				t.Errorf("got %s of kind %s, want %s of kind %s", got, kindOf(got), test.want, test.kind)
			}
			claim := ""
			if mismatch != nil {
				claim = mismatch.Declared
			}
			if claim != test.mismatch {
				t.Errorf("disproved: got %q, want %q", claim, test.mismatch)
			}
		})
	}
}

func TestAServersDeclarationOutranksTheName(t *testing.T) {
	found := sniff([]byte("a: 1\n"))
	if got, _ := chooseMIME(found, claims{fileName: "a.txt", declared: "application/yaml", trusted: true}); got != "application/yaml" {
		t.Errorf("got %s, want application/yaml", got)
	}
}

func TestEveryKnownExtensionIsAUsableType(t *testing.T) {
	for _, ext := range []string{".md", ".csv", ".json", ".png", ".jpg", ".svg", ".mp3", ".m4a", ".mkv", ".pdf", ".docx", ".zip", ".tar", ".yaml", ".wasm"} {
		name := typeOfExtension(ext)
		if !validMediaType(name) || bareMIME(name) != name {
			t.Errorf("%s: got %q, want a bare media type", ext, name)
		}
		if extensionOf(name) == "" {
			t.Errorf("%s: %s has no extension", ext, name)
		}
	}
}

func FuzzSniff(f *testing.F) {
	for _, seed := range [][]byte{pngBytes(), jpegBytes(), gifBytes(), bmpBytes(), webpBytes(), zipBytes("word/x"), []byte("a,b\n1,2\n"), nil} {
		f.Add(seed, "a.png", "image/png")
		f.Add(seed, "", "text/plain; charset=utf-8")
	}
	f.Fuzz(func(t *testing.T, content []byte, fileName, declared string) {
		found := sniff(content[:min(len(content), sniffBytes)])
		got, _ := chooseMIME(found, claims{fileName: fileName, declared: declared})
		if _, params, err := mime.ParseMediaType(got); err != nil || len(params) > 0 || got != strings.ToLower(got) {
			t.Errorf("got %q, want a bare media type", got)
		}
		if d := dimensionsOf(found.mime, bytes.NewReader(content)); d != nil && !plausible(d.Width, d.Height) {
			t.Errorf("got dimensions %v", d)
		}
	})
}
