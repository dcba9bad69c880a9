package api

// toolReset is what a reset let go.
type toolReset struct {
	Services []string `json:"services"` // that calls of the tool were kept away from, or had failed at
}

func (a *API) resetTool(q Request) (Reply, error) {
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	services, err := a.Breakers.Reset(q.Context(), q.Actor, q.PathValue("name"))
	if err != nil {
		return Reply{}, err
	}
	return ok(toolReset{append([]string{}, services...)})
}
