# frozen_string_literal: true

# redlock-rb (https://github.com/leandromoreira/redlock-rb) on one Redis server, or on five.

require 'json'
require 'redlock'

# The clock that all processes of the machine share.
def now_ns
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

# A failure that is definite.
class Failure < StandardError; end

# One client of the lock.
class Lock
  PAUSE = 0.2 # s, between two tries: the library's own retry_delay

  def initialize(hello)
    @ttl = hello['ttl_ms']
    @grants = {}
    servers = hello['nodes'].map { |node| "redis://#{node}" }
    @client = Redlock::Client.new(servers, retry_count: 0) # how often it tries depends on each call's time
  end

  def declare
    {
      name: "redlock-rb #{Redlock::VERSION}",
      validity: 'library', # validity, of what lock returns
      token: 'none',
      can: ['renew']
    }
  end

  # Takes the lock, or false: the library does not say why a server refused, so that is open.
  def take(key, **more)
    began = now_ns
    got = @client.lock(key, @ttl, **more)
    return false unless got

    # It says for how long the lock is good at its return.
    [got, { attempt_ns: began, first_ns: began, valid_for_ms: got[:validity] }]
  end

  def acquire(key, timeout)
    first = now_ns
    stop = first + timeout * 1_000_000_000
    loop do
      grant, reply = take(key)
      if grant
        @grants[key] = grant
        return reply
      end
      break if now_ns + PAUSE * 1_000_000_000 > stop

      sleep(PAUSE)
    end
    { ok: false, error: 'unknown', text: 'lock returned false', first_ns: first }
  end

  def renew(key, _timeout)
    raise Failure, 'not_held' unless @grants.key?(key)

    grant, reply = take(key, extend: @grants[key], extend_only_if_locked: true)
    return { ok: false, error: 'unknown', text: 'lock returned false' } unless grant

    @grants[key] = grant
    reply.reject { |name, _| name == :first_ns }
  end

  def release(key, _timeout)
    raise Failure, 'not_held' unless @grants.key?(key)

    @client.unlock(@grants.delete(key))
    {}
  end

  def close(_key, _timeout)
    {}
  end
end

lock = nil
$stdin.each_line do |line|
  request = JSON.parse(line)
  reply = { id: request['id'], ok: true }
  begin
    op = request['op']
    if op == 'hello'
      lock = Lock.new(request)
      reply.merge!(lock.declare)
    elsif %w[acquire renew release close].include?(op)
      reply.merge!(lock.public_send(op, request['key'], request['timeout_ms'] / 1000.0))
    else
      raise Failure, 'unsupported'
    end
  rescue Failure => e
    reply = { id: request['id'], ok: false, error: e.message }
  rescue StandardError => e
    warn "#{op}: #{e.full_message}"
    reply = { id: request['id'], ok: false, error: 'unknown', text: e.message }
  end
  $stdout.puts(JSON.generate(reply))
  $stdout.flush
end
