package resources

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"runtime"
	"testing"

	"vcphost/abi"
)

// pngHeader is a PNG that claims to be of a size and ends there.
func pngHeader(width, height uint32) []byte {
	ihdr := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	ihdr = binary.BigEndian.AppendUint32(ihdr, height)
	ihdr = append(ihdr, 8, 6, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), ihdr...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(ihdr))
}

// lateJPEG is a JPEG whose size comes after so many bytes of other segments.
func lateJPEG(before int) []byte {
	whole := jpegBytes()
	b := bytes.Clone(whole[:2])
	for before > 0 {
		n := min(before, 60000)
		b = binary.BigEndian.AppendUint16(append(b, 0xff, 0xe1), uint16(n+2))
		b = append(b, make([]byte, n)...)
		before -= n
	}
	return append(b, whole[2:]...)
}

func TestDimensions(t *testing.T) {
	is := func(w, h int) *abi.Dimensions { return &abi.Dimensions{Width: w, Height: h} }
	hugeAlpha := append(riff("WEBP", "VP8X", []byte{0x10, 0, 0, 0, 255, 127, 0, 255, 127, 0}), "ALPH\xff\xff\xff\x7f\x00"...)
	tests := []struct {
		name    string
		mime    string
		content []byte
		want    *abi.Dimensions
	}{
		{"png", "image/png", pngBytes(), is(7, 5)},
		{"jpeg", "image/jpeg", jpegBytes(), is(7, 5)},
		{"gif", "image/gif", gifBytes(), is(7, 5)},
		{"bmp", "image/bmp", bmpBytes(), is(7, 5)},
		{"webp", "image/webp", webpBytes(), is(7, 5)},
		{"lossless webp", "image/webp", riff("WEBP", "VP8L", []byte{0x2f, 6, 0, 1, 0, 0}), is(7, 5)},
		{"lossy webp", "image/webp", riff("WEBP", "VP8 ", []byte{0, 0, 0, 0x9d, 1, 0x2a, 7, 0, 5, 0}), is(7, 5)},
		{"jpeg with a late size", "image/jpeg", lateJPEG(500_000), is(7, 5)},
		{"jpeg with a size too late", "image/jpeg", lateJPEG(maxHeaderBytes + 1000), nil},
		{"svg", "image/svg+xml", []byte("<svg/>"), nil},
		{"png that claims the most pixels", "image/png", pngHeader(1<<31-1, 1<<31-1), nil},
		{"png that claims many pixels", "image/png", pngHeader(1<<24, 1<<24), is(1<<24, 1<<24)},
		{"png without pixels", "image/png", pngHeader(0, 5), nil},
		{"webp that claims a huge alpha plane", "image/webp", hugeAlpha, is(1<<15, 1<<15)},
		{"webp frame that is no key frame", "image/webp", riff("WEBP", "VP8 ", []byte{1, 0, 0, 0x9d, 1, 0x2a, 7, 0, 5, 0}), nil},
		{"nothing", "image/png", nil, nil},
		{"another type's bytes", "image/gif", pngBytes(), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := dimensionsOf(test.mime, bytes.NewReader(test.content))
			if (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestHostileHeadersAllocateLittle(t *testing.T) {
	for name, image := range map[string]struct {
		mime    string
		content []byte
	}{
		"png":  {"image/png", pngHeader(1<<24, 1<<24)},
		"webp": {"image/webp", append(riff("WEBP", "VP8X", []byte{0x10, 0, 0, 0, 255, 127, 0, 255, 127, 0}), "ALPH\xff\xff\xff\x7f\x00"...)},
		"bmp":  {"image/bmp", append([]byte("BM\xff\xff\xff\x7f\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x00\x00\x00\x40\x01\x00\x00\x00\x01\x00\x18"), make([]byte, 40)...)},
		"gif":  {"image/gif", []byte("GIF89a\xff\xff\xff\xff\xf7\x00\x00")},
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 20
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range runs {
				dimensionsOf(image.mime, bytes.NewReader(image.content))
			}
			runtime.ReadMemStats(&after)
			if got := (after.TotalAlloc - before.TotalAlloc) / runs; got > 64<<10 {
				t.Errorf("got %d bytes allocated, want at most 64 KiB", got)
			}
		})
	}
}

func TestCutImagesHaveNoDimensions(t *testing.T) {
	for name, image := range map[string]struct {
		mime    string
		content []byte
	}{
		"png": {"image/png", pngBytes()}, "jpeg": {"image/jpeg", jpegBytes()}, "gif": {"image/gif", gifBytes()},
		"bmp": {"image/bmp", bmpBytes()}, "webp": {"image/webp", webpBytes()},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range min(len(image.content), 700) {
				d := dimensionsOf(image.mime, bytes.NewReader(image.content[:n]))
				if d != nil && (*d != abi.Dimensions{Width: 7, Height: 5}) {
					t.Errorf("cut after %d bytes: got %v", n, d)
				}
			}
		})
	}
}
