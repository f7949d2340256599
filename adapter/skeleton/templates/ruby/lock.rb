# An adapter: a lock in Ruby that lockchaos can test.
#
# lockchaos starts this program once for every client, and speaks JSON lines with it: a request on standard input, its
# reply on standard output. It is one client, asked one thing at a time. See docs/protocol.md.
#
# As it stands this is a complete lock on one Redis server, without any library: SET NX PX, with a fencing token from a
# counter. Put your own lock in its place in the class Lock, and say in `declare` what it promises.
#
#     lockchaos adapter test "ruby lock.rb" --service redis      what is missing or wrong, with the exchange that shows it
#     lockchaos run quick --lock-cmd "ruby lock.rb" --service redis

require 'json'
require 'securerandom'
require 'socket'

# The clock that all processes of the machine share, in ns. Take stamps from this one only.
def now_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# A failure that is definite: nothing happened, and nothing will.
#
# busy: another holds the key. not_held: the service says that it is no longer ours. unsupported: no such operation.
# Anything else that goes wrong (a timeout, a broken connection) leaves open whether it happened: raise what you like.
class Failure < StandardError; end

# Your lock. One instance is one client.
class Lock
  def initialize(hello)
    @nodes = hello['nodes'] # the service's addresses, "10.88.0.2:6379"
    # hello['account'] is a user, password and database, for a library that insists on them (docs/protocol.md).
    @ttl_ms = hello['ttl_ms'] # how long a lease or session is to last
    @client = hello['client'] # "c3": for values that a human can read in the service
    @redis = Redis.new(@nodes.first)
    @values = {} # the value under which each key is ours
  end

  # What may be concluded from the answers. A claim that you do not make is not held against the lock.
  def declare
    {
      name: 'my-lock 0.1', # with its version: it stands in the report
      # How long a grant is good for. from_invocation: the TTL, from the start of the attempt that succeeded.
      # session: until a lost-event. library: as long as valid_for_ms says. Leave it out for no claim.
      validity: 'from_invocation',
      # fencing: a number that rises with every grant, so that a store can refuse older ones. Else "none".
      token: 'fencing',
      # Ops whose ok proves that the lock was still held. Release here compares before it deletes, so its ok does.
      confirms: %w[release held renew]
    }
  end

  # Takes the key within so many seconds, or raises: Failure 'busy' if another clearly holds it.
  def acquire(key, timeout)
    finish = now + timeout
    value = "#{@client}-#{SecureRandom.hex(8)}"
    first = nil # when the first attempt began that may have taken effect
    loop do
      began = now_ns
      begin
        # An attempt that is under way when the time is over is given a moment more: cut off, it would be an open question.
        token = @redis.eval(TAKE, [key, "#{key}:token"], [value, @ttl_ms], finish + 0.2)
      rescue SystemCallError, IOError
        # No answer: the server may have taken the key for us, or may yet. Try again while there is time.
        first ||= began
        token = 0
      end
      if token.positive? && now_ns - began < @ttl_ms * 1_000_000
        @values[key] = value
        return { token:, attempt_ns: began, first_ns: first || began }
      end
      first ||= began if token.positive? # an answer that came too late is no grant
      break if now + 0.01 >= finish

      sleep 0.01
    end
    raise Failure, 'busy' unless first

    raise 'an attempt was not answered: it may hold the key until its TTL is over'
  end

  # Returns if the key is still ours. Delete this method if your lock can't be asked.
  def held(key, timeout)
    raise Failure, 'not_held' if @redis.eval(HAS, [key], [@values[key]], now + timeout) != 1

    {}
  end

  # Lets the lease begin anew. Delete this method if your lock renews itself, or never.
  def renew(key, timeout)
    began = now_ns
    raise Failure, 'not_held' if @redis.eval(EXTEND, [key], [@values[key], @ttl_ms], now + timeout) != 1

    { attempt_ns: began }
  end

  # Gives the key back.
  def release(key, timeout)
    raise Failure, 'not_held' if @redis.eval(FREE, [key], [@values[key]], now + timeout) != 1

    @values.delete(key)
    {}
  end

  # Gives up connections, and the session if there is one.
  def close
    @redis.close
    {}
  end
end

# A lock that notices by itself that it is lost says so, at any time, from any thread:
#     send_line(event: 'lost', key: key, why: 'session expired')
# Where grants rest on a session declare "sessions": true, and tell it with each: "session": "0x1f" (docs/protocol.md).
# A lock that waits long can be told to give a wait up: declare "can": ["cancel"], and read standard input meanwhile (docs/protocol.md).

TAKE = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end return 0".freeze
HAS = "if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end return 0".freeze
EXTEND = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0".freeze
FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0".freeze

INCLUDE redis.rb

# What follows speaks the protocol; it can stay as it is.

require 'io/wait'
$stdout.sync = true

# Prints one line. It is one write, so that threads may send events.
def send_line(message) = $stdout.write("#{JSON.generate(message)}\n")

def answer(lock, request)
  return lock.close if request['op'] == 'close'
  raise Failure, 'unsupported' unless %w[acquire held renew release].include?(request['op']) && lock.respond_to?(request['op'])

  lock.public_send(request['op'], request['key'], request['timeout_ms'] / 1000.0)
end

lock = nil
$stdin.each_line do |line|
  request = JSON.parse(line)
  begin
    lock = Lock.new(request) if request['op'] == 'hello'
    reply = { ok: true }.merge(request['op'] == 'hello' ? lock.declare : answer(lock, request))
  rescue Failure => e
    reply = { ok: false, error: e.message }
  rescue StandardError => e # whatever it was: it may have happened, or not
    warn "#{request['op']}: #{e.full_message}"
    reply = { ok: false, error: 'unknown', text: e.message }
  end
  send_line({ id: request['id'] }.merge(reply))
end
