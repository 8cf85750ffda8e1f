package tool

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // dimensions
	_ "image/jpeg" // dimensions
	_ "image/png"  // dimensions
	"path"
	"strings"

	"github.com/wherry-acp/wherry/agent/host"
)

// What models take of a picture.
const (
	maxImageBytes = 1 << 20
	maxImageSide  = 8000 // pixels
)

// readImage reads a picture that a model can take, and a line that says what it is. The line is empty when the file is not
// a picture at all.
func readImage(ctx context.Context, h host.Host, place host.Path) (Image, string, error) {
	data, err := h.ReadBytes(ctx, place.Show, maxImageBytes)
	if errors.Is(err, host.ErrTooLarge) {
		if !imageName(place.Abs) {
			return Image{}, "", nil
		}
		return Image{}, "", fmt.Errorf("%s: is too large for a picture: at most %d KiB can be shown; a smaller copy of it can", place.Show, maxImageBytes>>10)
	}
	if err != nil {
		return Image{}, "", err
	}
	kind := imageType(data)
	if kind == "" {
		return Image{}, "", nil
	}
	width, height, ok := imageSize(kind, data)
	switch {
	case !ok:
		return Image{}, "", fmt.Errorf("%s: begins like a picture (%s) but is damaged", place.Show, kind)
	case width > maxImageSide || height > maxImageSide:
		return Image{}, "", fmt.Errorf("%s: is %d×%d pixels: at most %d each way can be shown", place.Show, width, height, maxImageSide)
	}
	return Image{MIMEType: kind, Data: data},
		fmt.Sprintf("%s (%s, %d×%d, %d bytes)", place.Show, kind, width, height, len(data)), nil
}

func imageName(abs string) bool {
	switch strings.ToLower(path.Ext(abs)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}

// imageType gives the MIME type of a picture by its first bytes, "" for others.
func imageType(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 16 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

func imageSize(kind string, data []byte) (width, height int, ok bool) {
	if kind == "image/webp" {
		return webpSize(data)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	return config.Width, config.Height, err == nil && config.Width > 0 && config.Height > 0
}

// webpSize reads the size from the first chunk of a WebP file (RFC 9649, section 2).
func webpSize(data []byte) (width, height int, ok bool) {
	if len(data) < 30 {
		return 0, 0, false
	}
	switch string(data[12:16]) {
	case "VP8X":
		return 1 + int(data[24]) + int(data[25])<<8 + int(data[26])<<16, 1 + int(data[27]) + int(data[28])<<8 + int(data[29])<<16, true
	case "VP8 ":
		if !bytes.Equal(data[23:26], []byte{0x9d, 0x01, 0x2a}) {
			return 0, 0, false
		}
		width = int(binary.LittleEndian.Uint16(data[26:])) & 0x3fff
		height = int(binary.LittleEndian.Uint16(data[28:])) & 0x3fff
	case "VP8L":
		if data[20] != 0x2f {
			return 0, 0, false
		}
		bits := binary.LittleEndian.Uint32(data[21:])
		width, height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	}
	return width, height, width > 0 && height > 0
}
