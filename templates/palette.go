package templates

import (
	"context"

	"baton/internal/i18n"
)

// GoTo are the sections as finds.
func GoTo(ctx context.Context, sections []Section) PaletteGroup {
	g := PaletteGroup{Title: i18n.T(ctx, "palette.go_to")}
	for _, s := range sections {
		l := s.link(ctx)
		g.Finds = append(g.Finds, Find{URL: l.url, Icon: l.icon, Title: l.label, Key: s.key()})
	}
	return g
}
