package ionostest

import (
	"encoding/json"
	"io"
	"net/http"
)

// ControlPath is where Control listens.
const ControlPath = "/control"

// Command is what Control is told. What is left out stays as it is.
type Command struct {
	// Fault replaces the fault; one without a kind ends it.
	Fault *Fault `json:"fault,omitempty"`
	// Servers makes a new world of that many servers, Churn replaces so many.
	Servers *int `json:"servers,omitempty"`
	Churn   int  `json:"churn,omitempty"`
	// Failover replaces the addresses of the LAN's failover group.
	Failover *[]string `json:"failover,omitempty"`
	// Token replaces the token that is accepted; empty accepts all.
	Token *string `json:"token,omitempty"`
}

// state is what Control answers.
type state struct {
	Fault   Fault  `json:"fault"`
	Servers int    `json:"servers"`
	Counts  Counts `json:"counts"`
	Kinds   []Kind `json:"kinds"`
}

// Control answers GET with the state of the fake, carries out the Command that is
// posted, and passes everything else on to the API.
func (a *API) Control() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", a)
	mux.HandleFunc("GET "+ControlPath, func(w http.ResponseWriter, _ *http.Request) { write(w, a.state()) })
	mux.HandleFunc("POST "+ControlPath, func(w http.ResponseWriter, r *http.Request) {
		decoder := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
		decoder.DisallowUnknownFields()
		var command Command
		if err := decoder.Decode(&command); err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		a.obey(command)
		write(w, a.state())
	})
	return mux
}

func (a *API) state() state {
	counts := a.Counts()
	a.mu.Lock()
	defer a.mu.Unlock()
	return state{Fault: a.fault, Servers: len(a.servers), Counts: counts, Kinds: Kinds()}
}

func (a *API) obey(command Command) {
	if command.Fault != nil {
		a.Break(*command.Fault)
	}
	if command.Servers != nil {
		a.Populate(*command.Servers)
	}
	a.Churn(command.Churn)
	if command.Failover != nil {
		a.SetFailover(*command.Failover...)
	}
	if command.Token != nil {
		if *command.Token == "" {
			a.Accept()
		} else {
			a.Accept("Bearer " + *command.Token)
		}
	}
}
