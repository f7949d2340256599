-- One request to the store, decided, carried out and entered into the ledger. Numbers are kept and compared as decimal text, since Lua's own are
-- exact up to 2^53 only; what is counted (version, sequence) stays far below that.
local meta, register, ledger = KEYS[1], KEYS[2], KEYS[3]
local epoch, at, write, mode, base, token, grant, value = unpack(ARGV, 1, 8)
local writes, reads, equal = ARGV[9] == '1', ARGV[10] == '1', ARGV[11] == '1'

if redis.call('HGET', meta, 'epoch') ~= epoch then
	return {'epoch'}
end

-- for numbers that are not below zero
local function less(a, b)
	return #a < #b or (#a == #b and a < b)
end

local now = redis.call('HMGET', register, 'version', 'value', 'fence', 'holder')
local version, fence, holder = now[1] or '0', now[3] or '0', now[4] or '0'
local outcome, replaced = 'ok', '0'

local function raise()
	fence = token
	redis.call('HSET', register, 'fence', token, 'holder', grant)
end

if write == '0' then
	value = now[2] or '0'
	if reads and less(fence, token) then
		raise()
	end
elseif writes and (less(token, fence) or (token == fence and grant ~= holder and not equal)) then
	outcome, version = 'refused', '0'
elseif mode == 'if-version' and base ~= version then
	outcome, version = 'conflict', '0'
else
	if mode == 'add' then
		local sum = redis.pcall('HINCRBY', register, 'value', value)
		if type(sum) == 'table' and sum.err then
			return {'overflow'} -- nothing has been written yet
		end
		value = redis.call('HGET', register, 'value')
	else
		redis.call('HSET', register, 'value', value)
	end
	replaced = version
	version = string.format('%.0f', redis.call('HINCRBY', register, 'version', 1))
	if writes then
		raise()
	end
end

local last = redis.call('HGET', meta, 'at')
if last and less(at, last) then
	at = last
end
local seq = string.format('%.0f', redis.call('HINCRBY', meta, 'seq', 1))
redis.call('HSET', meta, 'at', at)
redis.call('XADD', ledger, seq .. '-0', 'outcome', outcome, 'at', at, 'key', ARGV[12], 'op', ARGV[13], 'grant', grant, 'client', ARGV[14],
	'token', token, 'write', write, 'version', version, 'value', value, 'replaced', replaced, 'fence', fence, 'mode', mode, 'base', base)
return {outcome, seq, at, version, value, replaced, fence}
