// Package static is everything that browsers load beside the pages: the style
// sheet, scripts, fonts, icons and vendored libraries, embedded in the binary.
// Nothing has to be built in order to run.
//
// URL gives an asset's address. It carries a digest of all assets together, so
// browsers may keep what they loaded for ever, and relative addresses inside
// style sheets and modules go on working: they carry the same digest.
//
// What isn't ours stands in vendor/vendor.json with version, licence, source
// and digest, and its licence texts in vendor/LICENSES.txt.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:embed css/*.css js/*.js fonts/*.woff2 icons/*.svg vendor/*
var files embed.FS

// sheets are the parts of css/app.css, in their order. The browser gets them
// as one file.
var sheets = []string{
	"tokens", "base", "shell", "components", "prose", "dialogs", "inbox", "escalation", "session", "decisions",
}

// An Asset is one file as it is served.
type Asset struct {
	Type string // MIME type, with charset for text
	Body []byte
	Gzip []byte // Body compressed; nil for what is compressed already
}

type tree struct {
	digest string
	assets map[string]Asset
}

// assets is made once, at the first use, and never changed.
var assets = sync.OnceValue(func() tree {
	t := tree{assets: map[string]Asset{}}
	sum := sha256.New()
	add := func(name string, body []byte) {
		fmt.Fprintf(sum, "%s %d\n", name, len(body))
		sum.Write(body)
		t.assets[name] = pack(name, body)
	}
	add("css/app.css", sheet())
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Dir(name) == "css" {
			return err
		}
		body, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		add(name, body)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("the embedded assets are broken: %v", err))
	}
	t.digest = hex.EncodeToString(sum.Sum(nil)[:4])
	return t
})

// Prefix is where assets live: URLs are Prefix, the digest and the path.
const Prefix = "/static/"

// URL is the address of the asset with this path, for instance css/app.css.
func URL(name string) string { return Prefix + assets().digest + "/" + name }

// Digest is the digest in the addresses of this binary's assets. An address
// with another one was made by another version of the server.
func Digest() string { return assets().digest }

// Open finds an asset by its path.
func Open(name string) (Asset, bool) {
	a, ok := assets().assets[name]
	return a, ok
}

func sheet() []byte {
	var whole bytes.Buffer
	for _, part := range sheets {
		body, err := files.ReadFile("css/" + part + ".css")
		if err != nil {
			panic(fmt.Sprintf("the embedded assets are broken: %v", err))
		}
		whole.Write(body)
	}
	return notes.ReplaceAll(whole.Bytes(), nil)
}

// notes are what only those who write the sheet need: comments, indents, empty
// lines.
var notes = regexp.MustCompile(`(?s)/\*.*?\*/|(?m:^\s+)`)

func pack(name string, body []byte) Asset {
	types := map[string]string{
		".css":   "text/css; charset=utf-8",
		".js":    "text/javascript; charset=utf-8",
		".json":  "application/json",
		".svg":   "image/svg+xml",
		".txt":   "text/plain; charset=utf-8",
		".woff2": "font/woff2",
	}
	a := Asset{Type: types[path.Ext(name)], Body: body}
	if strings.HasPrefix(a.Type, "font/") {
		return a
	}
	var small bytes.Buffer
	w, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // fails on a bad level only
	_, _ = io.Copy(w, bytes.NewReader(body))                  // a Buffer takes everything
	_ = w.Close()
	a.Gzip = small.Bytes()
	return a
}
