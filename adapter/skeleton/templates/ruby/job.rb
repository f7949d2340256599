# An adapter: an instance of a scheduler in Ruby that lockchaos can test.
#
# lockchaos starts this program once for every instance, and speaks JSON lines with it: a request on standard input, its
# reply on standard output. The instance decides by itself when it executes the job, and prints events that tell of it.
# lockchaos does the job's work. See docs/protocol.md#instances-of-a-scheduler.
#
# As it stands this is a complete scheduler on one Redis server, without any library: SET NX PX, with a key for each
# tick. Put your own scheduler in its place in the class Instance, and say in `declare` what it promises.
#
#     lockchaos adapter test "ruby job.rb" --kind job --service redis      what is missing or wrong, with the exchange that shows it
#     lockchaos exam --job-cmd "ruby job.rb" --service redis

require 'json'
require 'securerandom'
require 'socket'

# The clock that all processes of the machine share, in ns. Take stamps from this one only.
def now_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

MEMORY_MS = 300_000 # for how long a tick is remembered: far longer than clocks differ

# Your scheduler. One value is one instance.
class Instance
  def initialize(hello)
    # The job is due whenever the wall clock shows a whole multiple of this, in ms since 1970.
    @every = hello['every_ms']
    # hello['ttl_ms'] is how long an execution is to be an instance's own, for a scheduler with leases.
    @client = hello['client'] # "c3": for values that a human can read in the service
    @redis = Redis.new(hello['nodes'].first) # the service's addresses, "10.88.0.2:6379"
  end

  # What may be concluded from the events. A claim that you do not make is not held against the scheduler.
  def declare
    {
      name: 'my-scheduler 0.1', # with its version: it stands in the report
      # at-most-once: no tick is executed twice. at-least-once: one is executed again only when its first instance has
      # lost it.
      job: 'at-most-once',
      overlap: true, # two executions may run at a time. Leave it out for no.
      # What becomes of a tick that no instance could execute in time: skip, once or all. Leave it out for no claim.
      misfire: 'skip',
      handover_ms: 1500 # how long after the death of an instance a tick may find no other one
    }
  end

  # Executes the job again and again, on a thread of its own. Begin with the first tick after the hello.
  def run
    last = due
    loop do
      tick = due
      if tick <= last
        sleep 0.005
        next
      end
      last = tick
      began = now_ns
      execute(tick, began) if claim(tick)
    end
  end

  # The latest tick that was due, in ms since 1970.
  def due = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) / @every * @every

  def claim(tick)
    @redis.eval(CLAIM, ["cron:#{tick}"], [@client, MEMORY_MS], now + 1) == 1
  rescue StandardError => e
    # No answer: the tick may be claimed. Nobody will know, so it is lost.
    warn "claim tick #{tick}: #{e.full_message}"
    false
  end

  # began: just before the request was sent that claimed the tick. Leave out what you do not know.
  def execute(tick, began)
    work = Work.new(tick:, attempt_ns: began)
    work.wait # lockchaos works now
    @redis.eval(MARK, ["cron:#{tick}"], ["done by #{@client}"], now + 1)
    work.done
    # A scheduler that finds that it has lost the execution says: work.lost('the lease was over')
  rescue StandardError => e # nobody knows whether it is marked as done, so say nothing
    warn "mark tick #{tick}: #{e.full_message}"
  end
end

CLAIM = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0".freeze
MARK = "if redis.call('SET', KEYS[1], ARGV[1], 'XX', 'KEEPTTL') then return 1 end return 0".freeze

INCLUDE redis.rb

INCLUDE events.rb

serve(Instance)
