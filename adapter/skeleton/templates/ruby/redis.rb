# Just enough of a Redis client to send a script. Your library goes here.
class Redis
  def initialize(address)
    @host, _, port = address.rpartition(':')
    @port = port.to_i
  end

  def eval(script, keys, args, finish)
    words = ['EVAL', script, keys.size, *keys, *args].map(&:to_s)
    text = "*#{words.size}\r\n" + words.map { |w| "$#{w.bytesize}\r\n#{w}\r\n" }.join
    # A call without a time limit hangs when the network does.
    @socket ||= Socket.tcp(@host, @port, connect_timeout: left(finish)).tap { |s| s.setsockopt(:TCP, :NODELAY, true) }
    @socket.write(text)
    reply = +''
    until reply.end_with?("\r\n")
      raise Errno::ETIMEDOUT unless @socket.wait_readable(left(finish))

      reply << @socket.readpartial(4096)
    end
    raise reply.strip unless reply.start_with?(':')

    reply[1..].to_i
  rescue SystemCallError, IOError
    close # a late answer must not be taken for that of the next call
    raise
  end

  def close
    @socket&.close
    @socket = nil
  end

  private

  def left(finish) = [finish - now, 0.001].max
end
