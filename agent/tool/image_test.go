package tool

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// onePixelWebP is a lossless WebP of one pixel.
const onePixelWebP = "UklGRiIAAABXRUJQVlA4TAYAAAAvAAAAAAfQ//73v/+BiOh/AAA="

func pictures(t *testing.T) map[string]string {
	t.Helper()
	picture := image.NewPaletted(image.Rect(0, 0, 30, 20), palette.Plan9)
	out := map[string]string{}
	var buf bytes.Buffer
	for name, encode := range map[string]func() error{
		"a.png": func() error { return png.Encode(&buf, picture) },
		"a.jpg": func() error { return jpeg.Encode(&buf, picture, nil) },
		"a.gif": func() error { return gif.Encode(&buf, picture, nil) },
	} {
		buf.Reset()
		if err := encode(); err != nil {
			t.Fatal(err)
		}
		out[name] = buf.String()
	}
	webp, err := base64.StdEncoding.DecodeString(onePixelWebP)
	if err != nil {
		t.Fatal(err)
	}
	out["a.webp"] = string(webp)
	return out
}

func TestViewShowsPictures(t *testing.T) {
	files := pictures(t)
	files["no-extension"] = files["a.png"]
	b := newBench(t, files)
	for name, want := range map[string]string{
		"a.png": "image/png, 30×20", "a.jpg": "image/jpeg, 30×20", "a.gif": "image/gif, 30×20", "a.webp": "image/webp, 1×1",
		"no-extension": "image/png, 30×20",
	} {
		result := b.call("view", map[string]any{"path": name})
		if result.Failed || len(result.Images) != 1 {
			t.Errorf("%s: %+v", name, result)
			continue
		}
		kind, _, _ := strings.Cut(want, ",")
		if got := result.Images[0]; got.MIMEType != kind || string(got.Data) != files[name] {
			t.Errorf("%s: %s, %d bytes", name, got.MIMEType, len(got.Data))
		}
		wantPart(t, result.Text, name+" ("+want+", ")
		if len(result.Views) > 0 {
			t.Errorf("%s counts as a text that was viewed", name)
		}
	}
}

func TestPicturesThatNoModelTakesAreRefusedWithTheLimit(t *testing.T) {
	png := pictures(t)["a.png"]
	wide := []byte(png)
	binary.BigEndian.PutUint32(wide[16:], 9000)
	copy(wide[29:33], pngChecksum(wide[12:29]))
	b := newBench(t, map[string]string{
		"damaged.png": png[:20], "huge.png": png + strings.Repeat("\x00", maxImageBytes), "wide.png": string(wide), "data.bin": "\x00\x01\x02",
		"huge.bin": strings.Repeat("\x00", maxImageBytes+1),
	})
	for name, want := range map[string]string{
		"damaged.png": "view: damaged.png: begins like a picture (image/png) but is damaged",
		"huge.png":    "view: huge.png: is too large for a picture: at most 1024 KiB can be shown; a smaller copy of it can",
		"wide.png":    "view: wide.png: is 9000×20 pixels: at most 8000 each way can be shown",
		"data.bin":    "view: data.bin: is not a text file and not a picture that can be shown (PNG, JPEG, GIF, WebP)",
		"huge.bin":    "view: huge.bin: is not a text file and not a picture that can be shown (PNG, JPEG, GIF, WebP)",
	} {
		result := b.call("view", map[string]any{"path": name})
		if !result.Failed {
			t.Errorf("%s was shown", name)
		}
		wantText(t, result.Text, want)
	}
}

func FuzzPictureSizesNeverPanic(f *testing.F) {
	webp, err := base64.StdEncoding.DecodeString(onePixelWebP)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(webp)
	f.Add([]byte("RIFF....WEBPVP8 ...................."))
	f.Add([]byte("RIFF....WEBPVP8X...................."))
	f.Add([]byte("GIF89a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if kind := imageType(data); kind != "" {
			if width, height, ok := imageSize(kind, data); ok && (width <= 0 || height <= 0) {
				t.Errorf("%d×%d", width, height)
			}
		}
	})
}

func pngChecksum(chunk []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk))
}
