package etcd

import (
	"context"

	"google.golang.org/grpc"

	"github.com/lockchaos/lockchaos/clients"
)

const keepAliveMethod = "/etcdserverpb.Lease/LeaseKeepAlive"

// gateKeepAlives lets every keep-alive that the library sends pass the gate. While it waits
// there, the library's own timer runs: it gives the lease up when none was answered for a TTL.
func gateKeepAlives(gate *clients.Gate) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
		opts ...grpc.CallOption) (grpc.ClientStream, error) {
		stream, err := open(ctx, desc, cc, method, opts...)
		if err != nil || method != keepAliveMethod {
			return stream, err
		}
		return &gated{stream, gate}, nil
	}
}

// gated is a stream on which nothing is sent while the gate is shut.
type gated struct {
	grpc.ClientStream
	gate *clients.Gate
}

func (g *gated) SendMsg(m any) error {
	if err := g.gate.Pass(g.Context()); err != nil {
		return err
	}
	return g.ClientStream.SendMsg(m)
}
