package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
)

var sentinelService = Service{
	Program: "redis-sentinel",
	Forms:   "redis+sentinel://USER:PASSWORD@HOST:PORT/NAME, where NAME is what the sentinels call the primary, or rediss+sentinel://… with TLS",
	schemes: []string{"redis+sentinel", "rediss+sentinel"}, Named: true,
	ttl: redisService.ttl, late: redisService.late,
	open:   openSentinel,
	denied: redisService.denied,
	login:  redisService.login,
}

// sentinelServer is the primary that a sentinel names, with a client that asks it again.
type sentinelServer struct {
	redisServer
	at       endpoint.Endpoint
	dial     endpoint.Dial
	name     string
	sentinel *goredis.SentinelClient
}

// AsSentinel returns the address of a sentinel with what it wants of a login: many ask for none,
// though their Redis servers do. IP addresses that it announces have certificates for its own name.
func AsSentinel(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (endpoint.Endpoint, error) {
	if at.Database() == "" {
		return at, errors.New("say what the sentinels call the primary: redis+sentinel://HOST:PORT/NAME")
	}
	if !at.Clusters() {
		at = at.Clustered(at.Host())
	}
	if open := at.Opened(); pinged(ctx, open, dial) == nil {
		return open, nil
	}
	return at, pinged(ctx, at, dial)
}

// pinged reports whether the sentinel answers.
func pinged(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) error {
	c, err := asking(at, dial)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Ping(ctx).Err()
}

// asking is a client of the sentinel.
func asking(at endpoint.Endpoint, dial endpoint.Dial) (*goredis.SentinelClient, error) {
	o, err := redisurl.Options(at.Speaker().Address(), dial)
	if err != nil {
		return nil, err
	}
	goredis.SetLogger(silence{}) // what goes wrong is in the errors
	return goredis.NewSentinelClient(o), nil
}

func openSentinel(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	at, err := AsSentinel(ctx, at, dial)
	if err != nil {
		return nil, err
	}
	s := &sentinelServer{at: at, dial: dial, name: at.Database()}
	if s.sentinel, err = asking(at, dial); err != nil {
		return nil, err
	}
	primary, err := s.primary(ctx)
	if err != nil {
		return nil, errors.Join(err, s.sentinel.Close())
	}
	options, err := redisurl.Options(at.Server(primary).Address(), dial)
	if err != nil {
		return nil, errors.Join(err, s.sentinel.Close())
	}
	options.PoolSize = 1
	s.one, s.known = goredis.NewClient(options), true
	s.client = s.one
	if err := s.one.Ping(ctx).Err(); err != nil {
		s.close()
		return nil, fmt.Errorf("the primary %s, which the sentinel names: %w", primary, err)
	}
	return s, nil
}

// primary asks for the primary's address.
func (s *sentinelServer) primary(ctx context.Context) (string, error) {
	at, err := s.sentinel.GetMasterAddrByName(ctx, s.name).Result()
	if errors.Is(err, goredis.Nil) {
		return "", fmt.Errorf("the sentinel knows no primary that is called %q: redis+sentinel://HOST:PORT/NAME", s.name)
	}
	if err != nil {
		return "", fmt.Errorf("ask the sentinel for the primary: %w", err)
	}
	if len(at) != 2 {
		return "", fmt.Errorf("it names a primary as no sentinel does: %q; is that the address of a sentinel?", at)
	}
	return net.JoinHostPort(at[0], at[1]), nil
}

func (s *sentinelServer) close() {
	_ = s.sentinel.Close()
	_ = s.one.Close()
}

// facts are those of the primary, and what the sentinels know.
func (s *sentinelServer) facts(ctx context.Context) ([]Fact, error) {
	facts, err := s.redisServer.facts(ctx)
	if err != nil {
		return nil, err
	}
	told, err := s.sentinel.Master(ctx, s.name).Result()
	if err != nil {
		return nil, fmt.Errorf("SENTINEL MASTER: %w", err)
	}
	f := Fact{Name: "sentinels", Text: fmt.Sprintf("they watch %s at %s, epoch %s; others %s, quorum %s, replicas %s; silent for %s ms it is taken for down",
		s.name, net.JoinHostPort(told["ip"], told["port"]), told["config-epoch"], told["num-other-sentinels"], told["quorum"], told["num-slaves"],
		told["down-after-milliseconds"])}
	if told["num-other-sentinels"] == "0" || told["num-other-sentinels"] == "1" {
		f.Warning = "fewer than three sentinels promote nobody when the machine of one is away"
	}
	return append(facts, f), nil
}

// masters is the server that the sentinel names, once it says itself that it is the primary.
func (s *sentinelServer) masters(ctx context.Context) (m Masters, err error) {
	told, err := s.sentinel.Master(ctx, s.name).Result()
	if err != nil {
		return m, fmt.Errorf("SENTINEL MASTER: %w", err)
	}
	info, err := s.one.Info(ctx, "replication").Result()
	if err != nil {
		return m, fmt.Errorf("INFO replication: %w", err)
	}
	m.Who = net.JoinHostPort(told["ip"], told["port"])
	m.Text = fmt.Sprintf("primary %s, epoch %s", m.Who, told["config-epoch"])
	if fields(info)["role"] != "master" || s.one.Options().Addr != m.Who {
		m.Who = "" // it changes just now
	}
	return m, nil
}

// members are the Redis servers and the sentinels that are up.
func (s *sentinelServer) members(ctx context.Context, _ endpoint.Endpoint, _ endpoint.Dial) ([]Member, error) {
	all, err := s.servers(ctx)
	if err != nil {
		return nil, err
	}
	sentinels, err := otherSentinels(ctx, s.sentinel, s.name)
	if err != nil {
		return nil, err
	}
	self := Member{At: s.at.HostPort(), Sentinel: true}
	for _, at := range sentinels {
		also, err := s.calledBy(ctx, at, append(slices.Clone(sentinels), self.At))
		if err != nil {
			return nil, err
		}
		self.Also = append(self.Also, also...)
	}
	slices.Sort(self.Also)
	self.Also = slices.Compact(self.Also)
	watching := []Member{self}
	for _, at := range sentinels {
		watching = append(watching, Member{At: at, Sentinel: true})
	}
	slices.SortFunc(watching, byAddress)
	return append(all, watching...), nil
}

// servers are the primary and its replicas that are up.
func (s *sentinelServer) servers(ctx context.Context) ([]Member, error) {
	primary, err := s.primary(ctx)
	if err != nil {
		return nil, err
	}
	replicas, err := s.sentinel.Replicas(ctx, s.name).Result()
	if err != nil {
		return nil, fmt.Errorf("SENTINEL REPLICAS: %w", err)
	}
	all := []Member{{At: primary}}
	for _, r := range replicas {
		if !down(r) {
			all = append(all, Member{At: net.JoinHostPort(r["ip"], r["port"]), Replica: true})
		}
	}
	slices.SortFunc(all, byAddress)
	return all, nil
}

// down reports whether a sentinel takes another server for down, by what it tells of it.
func down(told map[string]string) bool { return strings.Contains(told["flags"], "down") }

func byAddress(a, b Member) int { return strings.Compare(a.At, b.At) }

// calledBy are the addresses that another sentinel knows beside these: what it calls the one that
// was asked.
func (s *sentinelServer) calledBy(ctx context.Context, at string, known []string) ([]string, error) {
	other, err := asking(s.at.At(at), s.dial)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	told, err := otherSentinels(ctx, other, s.name)
	if err != nil {
		return nil, fmt.Errorf("the sentinel %s: %w", at, err)
	}
	return slices.DeleteFunc(told, func(one string) bool { return slices.Contains(known, one) }), nil
}

// otherSentinels asks a sentinel for the others that it reaches. It never forgets one that has
// gone.
func otherSentinels(ctx context.Context, c *goredis.SentinelClient, name string) (all []string, err error) {
	told, err := c.Sentinels(ctx, name).Result()
	if err != nil {
		return nil, fmt.Errorf("SENTINEL SENTINELS: %w", err)
	}
	for _, one := range told {
		if !down(one) {
			all = append(all, net.JoinHostPort(one["ip"], one["port"]))
		}
	}
	return all, nil
}
