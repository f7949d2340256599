package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// otherMachine is an agent whose faults do as they are told.
type otherMachine struct {
	effect Effect
	err    error
	struck []string
	healed int
}

func (o *otherMachine) Inject(_ context.Context, _ Part, _ string, names []string) (InEffect, error) {
	o.struck = append(o.struck, names...)
	if o.err != nil {
		return nil, o.err
	}
	return otherEffect{o}, nil
}

func (o *otherMachine) Emptied(context.Context, string) error { return nil }

type otherEffect struct{ *otherMachine }

func (e otherEffect) From() int64 { return e.effect.From }
func (e otherEffect) Heal() (Effect, error) {
	e.healed++
	return e.effect, nil
}

// farClients are on these machines.
func farClients(all ...*otherMachine) (clients []Client) {
	for i, at := range all {
		clients = append(clients, Client{Number: int32(i + 1), Far: at, Name: string(rune('a' + i))})
	}
	return clients
}

// A fault of several machines is in effect while it is on all, and its proof is that of all.
func TestEverywhere(t *testing.T) {
	one := &otherMachine{effect: Effect{From: 10, To: 100, Bit: true, Proof: "first"}}
	two := &otherMachine{effect: Effect{From: 30, To: 90, Bit: true, Proof: "second"}}
	site := Site{Part: Part{Spec: Spec{Kind: KindPause, Aim: Aim{Target: AllClients}}},
		Victims: Victims{Clients: farClients(one, two, one)}, Rand: rand.New(rand.NewPCG(1, 1))}
	in, err := Inject(t.Context(), site)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.struck, []string{"a", "c"}) || !slices.Equal(two.struck, []string{"b"}) || in.From() != 30 ||
		!slices.Equal(site.Names(), []string{"a", "b", "c"}) {
		t.Errorf("%v, %v are struck from %d; they are called %v", one.struck, two.struck, in.From(), site.Names())
	}
	if e, err := in.Heal(); err != nil || e != (Effect{From: 30, To: 90, Bit: true, Proof: "first; second"}) {
		t.Errorf("%+v, %v", e, err)
	}
}

// Where it can't be injected on one, it is healed on all.
func TestEverywhereOrNowhere(t *testing.T) {
	good, bad := &otherMachine{}, &otherMachine{err: ErrMissed}
	site := Site{Part: Part{Spec: Spec{Kind: KindPause, Aim: Aim{Target: AllClients}}}, Victims: Victims{Clients: farClients(good, bad)}}
	if _, err := Inject(t.Context(), site); !errors.Is(err, ErrMissed) || good.healed != 1 {
		t.Errorf("%v; healed %d times", err, good.healed)
	}
}

// fakeCluster answers what it is asked for by what it was told.
type fakeCluster struct {
	Cluster
	err error
}

func (c fakeCluster) Delete(_ context.Context, pod string, force bool) (string, error) {
	return map[bool]string{true: "force", false: "grace"}[force], c.err
}
func (c fakeCluster) Replaced(context.Context, string) (string, error) { return "another came", nil }

// The end of a pod is proven by what the cluster says and by its processes, wherever they are.
func TestOusting(t *testing.T) {
	site := Site{Part: Part{Spec: Spec{Kind: KindKillPod}}, Victims: Victims{Clients: farClients(&otherMachine{})},
		Resources: Resources{Cluster: fakeCluster{}}}
	in, err := Inject(t.Context(), site)
	if err != nil {
		t.Fatal(err)
	}
	e, err := in.Heal()
	if err != nil || !e.Bit || e.From != in.From() || e.To < e.From ||
		!strings.HasPrefix(e.Proof, "a: force; its processes were gone after ") || !strings.HasSuffix(e.Proof, "; another came") {
		t.Errorf("%+v, %v", e, err)
	}
	if again, err := in.Heal(); err != nil || again != e {
		t.Errorf("once more: %+v, %v", again, err)
	}
}
