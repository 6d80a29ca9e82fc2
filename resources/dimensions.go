package resources

import (
	"bufio"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"

	"vcphost/abi"
)

// maxHeaderBytes is how far into an image its dimensions are looked for: a
// camera's JPEG may have a preview and colour profiles before them.
const maxHeaderBytes = 1 << 20

// hasDimensions reports whether dimensionsOf can read the type.
func hasDimensions(mimeType string) bool { return configReader(mimeType) != nil }

func configReader(mimeType string) func(io.Reader) (image.Config, error) {
	switch mimeType {
	case "image/png", "image/apng":
		return png.DecodeConfig
	case "image/jpeg":
		return jpeg.DecodeConfig
	case "image/gif":
		return gif.DecodeConfig
	case "image/webp":
		return webp.DecodeConfig
	case "image/bmp":
		return bmp.DecodeConfig
	}
	return nil
}

// dimensionsOf reads the header of an image and no pixels; what it allocates
// does not grow with what the header says. nil means that there is no header
// that can be read.
func dimensionsOf(mimeType string, r io.Reader) (found *abi.Dimensions) {
	decode := configReader(mimeType)
	if decode == nil {
		return nil
	}
	// The bytes are hostile and the decoders many: an image whose header makes
	// one panic is an image without dimensions, not the end of the process.
	defer func() {
		if recover() != nil {
			found = nil
		}
	}()
	config, err := decode(bufio.NewReader(io.LimitReader(r, maxHeaderBytes)))
	if err != nil || !plausible(config.Width, config.Height) {
		return nil
	}
	return &abi.Dimensions{Width: config.Width, Height: config.Height}
}
