# What follows speaks the protocol; it can stay as it is.

require 'io/wait'
$stdout.sync = true

# Prints one line. It is one write, so any thread may.
def send_line(message) = $stdout.write("#{JSON.generate(message)}\n")

# An execution of a job, or a term of a leader, which begins. What is done in it is lockchaos's.
class Work
  GOING = {} # those whose work is not over
  MUTEX = Mutex.new

  def self.take(run) = MUTEX.synchronize { GOING.delete(run) }

  def initialize(**more)
    @run = SecureRandom.hex(8)
    @over = false
    @changed = ConditionVariable.new
    MUTEX.synchronize { GOING[@run] = self }
    send_line({ event: 'run', run: @run }.merge(more))
  end

  # Waits until the work is over, for so many seconds at most. Returns whether it is.
  def wait(seconds = nil)
    finish = now + seconds if seconds
    MUTEX.synchronize do
      @changed.wait(MUTEX, seconds && finish - now) until @over || (seconds && now >= finish)
      @over
    end
  end

  def go
    MUTEX.synchronize { @over = true }
    @changed.signal
  end

  # Tells that it is marked as done, or that the leader has stepped down.
  def done = tell(event: 'done')

  # Tells that it is no longer this client's.
  def lost(why) = tell(event: 'lost', why:)

  private

  def tell(event)
    Work.take(@run)
    send_line(event.merge(run: @run))
  end
end

def serve(kind)
  $stdin.each_line do |line|
    request = JSON.parse(line)
    reply = { ok: true }
    mine = work = nil
    case request['op']
    when 'hello'
      mine = kind.new(request)
      reply.merge!(mine.declare)
    when 'go'
      work = Work.take(request['run'])
      reply = { ok: false, error: 'not_held' } unless work # there is no such one any more
    when 'close'
    else
      reply = { ok: false, error: 'unsupported' }
    end
    send_line({ id: request['id'] }.merge(reply))
    work&.go
    Thread.new { mine.run } if mine
  end
end
