package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// Program is a compiled program, of which Worlds start instances. It is safe for concurrent use.
type Program struct {
	// Hash is the SHA-256 of its wasm, in hexadecimal.
	Hash    string
	runtime wazero.Runtime
	code    wazero.CompiledModule
	images  *images // nil: wazero lays out the memory
	watched bool    // its loops count down (loops.go)
	globals int     // how many it has, if its instances can be resumed (resume.go)
	most    int64   // of an instance's linear memory (bytes)
	started starts
}

// Options say how a Program is run.
type Options struct {
	// Interpret runs it by an interpreter: it starts at once, and runs about eight times slower.
	Interpret bool
	// Cache is the folder for compiled code; "": that of the user's cache.
	Cache string
	// Memory bounds the linear memory of an instance (bytes); 0: the usual limit.
	Memory int64
}

// Load compiles a program's wasm, or finds what was compiled before.
func Load(ctx context.Context, wasm []byte, o Options) (_ *Program, err error) {
	sum := sha256.Sum256(wasm)
	p := &Program{Hash: hex.EncodeToString(sum[:]), most: Limits{Memory: o.Memory}.complete().Memory}
	rest, image, ok := splitData(wasm)
	if ok {
		if p.images, err = newImages(image, p.most); err != nil {
			return nil, err
		}
	}
	if p.images == nil {
		rest = wasm
	} else if watched, ok := watchLoops(rest); ok {
		rest, p.watched = watched, true
		if exposed, globals, ok := exposeResume(rest); ok {
			rest, p.globals = exposed, globals
		}
	}
	config, err := o.config(p.Hash)
	if err != nil {
		return nil, errors.Join(err, p.closeImages())
	}
	p.runtime = wazero.NewRuntimeWithConfig(ctx, config.WithCloseOnContextDone(!p.watched))
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close(ctx))
		}
	}()
	if p.code, err = p.runtime.CompileModule(ctx, rest); err != nil {
		return nil, fmt.Errorf("compile the program: %w", err)
	}
	return p, p.link(ctx)
}

func (o Options) config(program string) (wazero.RuntimeConfig, error) {
	config := wazero.NewRuntimeConfigCompiler()
	if o.Interpret {
		config = wazero.NewRuntimeConfigInterpreter()
	} else {
		dir := o.Cache
		if dir == "" {
			var err error
			if dir, err = CacheEntry(CompiledCode, program); err != nil {
				return nil, err
			}
		}
		cache, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			return nil, fmt.Errorf("open the folder for compiled code: %w", err)
		}
		config = config.WithCompilationCache(cache)
	}
	const page = 64 << 10
	return config.WithMemoryLimitPages(uint32(Limits{Memory: o.Memory}.complete().Memory / page)), nil
}

// link gives the program its host functions. What it imports and there is not, answers ENOSYS.
func (p *Program) link(ctx context.Context) error {
	modules := map[string]wazero.HostModuleBuilder{}
	for _, f := range p.code.ImportedFunctions() {
		module, name, _ := f.Import()
		if modules[module] == nil {
			modules[module] = p.runtime.NewHostModuleBuilder(module)
		}
		call := hostCalls[name]
		if call.do == nil {
			call = hostCall{costOther, func(*Instance, api.Memory, []uint64) uint32 { return errNoSys }}
		}
		returns := len(f.ResultTypes()) == 1 && f.ResultTypes()[0] == api.ValueTypeI32
		fn := api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
			in := instanceOf(ctx)
			in.enter(name, call.cost)
			in.host.Note(Act(name))
			if r := call.do(in, m.Memory(), stack); returns {
				stack[0] = uint64(r)
			}
		})
		modules[module].NewFunctionBuilder().WithGoModuleFunction(fn, f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		if _, err := modules[name].Instantiate(ctx); err != nil {
			return fmt.Errorf("link the program: %w", err)
		}
	}
	return nil
}

// Close gives up what was compiled. No instance may run.
func (p *Program) Close(ctx context.Context) error {
	return errors.Join(p.runtime.Close(ctx), p.started.close(), p.closeImages())
}

func (p *Program) closeImages() error {
	if p.images == nil {
		return nil
	}
	return p.images.close()
}

// run runs an instance from its start to its end, and returns its exit status. One whose start is
// known begins behind it.
func (p *Program) run(ctx context.Context, in *Instance) (status uint32, err error) {
	ctx = context.WithValue(ctx, instanceKey{}, in)
	known := p.started.of(in)
	m, err := p.instantiate(ctx, known)
	if err != nil {
		return 0, fmt.Errorf("start the program: %w", err)
	}
	defer func() { err = errors.Join(err, p.over(ctx, in, known, m)) }()
	if p.watched {
		word, _ := m.Memory().Read(haltWord, 8) // every memory is larger
		in.halt.Aim(word)
		defer in.halt.Aim(nil) // before the memory is another's
	}
	if in.module = m.Module; known != nil {
		err = known.resume(ctx, in)
	} else {
		in.halt.Allow(in.w.limits.Turns)
		err = begin(ctx, m.Module)
	}
	in.spent = in.halt.Left() == 0
	if in.killed {
		return 0, nil
	}
	if exit, is := errors.AsType[*sys.ExitError](err); is && ctx.Err() == nil {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// begin runs a program from its beginning.
func begin(ctx context.Context, m api.Module) error {
	main := m.ExportedFunction("_start")
	if main == nil {
		return errors.New("the program has no start: it must be a main package")
	}
	_, err := main.Call(ctx)
	return err
}

type instanceKey struct{}

func instanceOf(ctx context.Context) *Instance { return ctx.Value(instanceKey{}).(*Instance) }
