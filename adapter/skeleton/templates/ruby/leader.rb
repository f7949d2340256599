# An adapter: a candidate for leadership in Ruby that lockchaos can test.
#
# lockchaos starts this program once for every replica, and speaks JSON lines with it: a request on standard input, its
# reply on standard output. The candidate stands for election by itself, and prints events that tell of its terms.
# lockchaos does the leader's work. See docs/protocol.md#candidates-for-leadership.
#
# As it stands this is a complete election on one Redis server, without any library: a key with an expiry, which the
# leader renews. Put your own in its place in the class Candidate, and say in `declare` what it promises.
#
#     lockchaos adapter test "ruby leader.rb" --kind leader --service redis      what is missing or wrong, with the exchange that shows it
#     lockchaos exam --leader-cmd "ruby leader.rb" --service redis

require 'json'
require 'securerandom'
require 'socket'

# The clock that all processes of the machine share, in ns. Take stamps from this one only.
def now_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Your election. One value is one replica.
class Candidate
  def initialize(hello)
    @ttl_ms = hello['ttl_ms'] # how long a lease or session is to last
    @ttl = @ttl_ms / 1000.0
    @client = hello['client'] # "c3": for values that a human can read in the service
    @redis = Redis.new(hello['nodes'].first) # the service's addresses, "10.88.0.2:6379"
  end

  # What may be concluded from the events. A claim that you do not make is not held against the election.
  def declare
    {
      name: 'my-election 0.1', # with its version: it stands in the report
      leader: true,
      validity: 'session', # a term lasts until its loss is told. Leave it out for no claim.
      # Within which time a loss is told: the pause between two renewals, and the time that it takes to be heard.
      lost_grace_ms: @ttl_ms / 3 + 500
    }
  end

  # Stands for election again and again, on a thread of its own.
  def run
    loop do
      value = "#{@client}-#{SecureRandom.hex(8)}" # one for each term
      stamp = now_ns
      finish = now + @ttl
      lead(value, stamp, finish) if ask(TAKE, value, finish) == 1 && now < finish
      sleep @ttl / 20 # after a term, too: others are to have a chance
    end
  end

  # stamp: just before the request was sent that won the election. finish: the end of the lease, by this machine's clock.
  def lead(value, stamp, finish)
    term = Work.new(attempt_ns: stamp)
    while now < finish
      if term.wait([finish - now, @ttl / 3].min) # the work is over: an orderly stop
        ask(FREE, value, finish)
        return term.done
      end
      asked = now
      kept = ask(EXTEND, value, finish)
      break if kept&.zero?

      finish = asked + @ttl if kept && now < finish
    end
    term.lost('the lease is over')
  end

  # 1 or 0 as the service says, before that instant; nil: it has not answered.
  def ask(script, value, finish)
    @redis.eval(script, ['leader'], [value, @ttl_ms], finish)
  rescue StandardError => e
    warn "#{@client}: #{e.full_message}"
    nil
  end
end

TAKE = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0".freeze
EXTEND = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0".freeze
FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0".freeze

INCLUDE redis.rb

INCLUDE events.rb

serve(Candidate)
