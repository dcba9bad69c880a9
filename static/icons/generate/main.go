// Command generate makes the icon sprite from Lucide's single icons.
//
//	go run ./static/icons/generate -lucide <unpacked lucide-static package>
//
// It reads the names in static/icons/icons.txt and writes static/icons/sprite.svg,
// which is committed: neither a build nor a run needs Lucide.
package main

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	lucide := flag.String("lucide", "", "folder of an unpacked lucide-static package")
	dir := flag.String("dir", "static/icons", "folder of icons.txt and sprite.svg")
	flag.Parse()
	if err := run(*lucide, *dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(lucide, dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "icons.txt"))
	if err != nil {
		return err
	}
	var sprite bytes.Buffer
	sprite.WriteString(`<svg xmlns="http://www.w3.org/2000/svg">` + "\n")
	for name := range strings.FieldsSeq(string(list)) {
		source, err := os.ReadFile(filepath.Join(lucide, "icons", name+".svg"))
		if err != nil {
			return fmt.Errorf("read icon %s: %w", name, err)
		}
		shapes, err := inner(source)
		if err != nil {
			return fmt.Errorf("read icon %s: %w", name, err)
		}
		fmt.Fprintf(&sprite, `<symbol id="%s" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">%s</symbol>`+"\n", name, shapes)
	}
	sprite.WriteString("</svg>\n")
	return os.WriteFile(filepath.Join(dir, "sprite.svg"), sprite.Bytes(), 0o644)
}

// inner is what stands inside an icon's svg element: shapes without children.
func inner(source []byte) (string, error) {
	var icon struct {
		Shapes []struct {
			XMLName xml.Name
			Attrs   []xml.Attr `xml:",any,attr"`
		} `xml:",any"`
	}
	if err := xml.Unmarshal(source, &icon); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, shape := range icon.Shapes {
		b.WriteString("<" + shape.XMLName.Local)
		for _, a := range shape.Attrs {
			fmt.Fprintf(&b, ` %s="%s"`, a.Name.Local, a.Value)
		}
		b.WriteString("/>")
	}
	return b.String(), nil
}
