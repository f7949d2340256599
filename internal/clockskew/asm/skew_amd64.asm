# The code that a target's clock functions lead to once it is patched. x86-64, position independent, no SSE, 40 bytes of stack.
#
# build.sh assembles it into skew_amd64.bin, which the Go package embeds; a test holds the two together. layout.go knows the offsets.
#
#   +0x00  magic[8]
#   +0x08  seq       u64; its low bit names the bank in force. The writer fills the other bank, then changes seq
#   +0x10  orig      address of the real pthread_cond_timedwait (0: nothing is hooked)
#   +0x18  entries   5 x u16: offsets of cgt, gtod, tim, cond and tramp from magic
#   +0x28  tramp     40 B: reads the true clock. As it stands by a system call; the injector may replace it by the displaced first
#                    instructions of __vdso_clock_gettime and a jump to what follows them
#   +0x50  bank[2]   2 x 224 B: for wall, then monotonic: i64 rate, inv; for each clock id 0..11: i64 ref, off
#   +0x210 code
#
# A clock shows  t + off + ((t - ref) * rate >> 32)  ns, t being its true time; rate = (r-1) * 2^32, inv = 2^32 / r.
# Each clock id has a ref and an off of its own, since coarse clocks, MONOTONIC_RAW, BOOTTIME and TAI differ from their class.
.intel_syntax noprefix
.set WALL,  0x921                       # REALTIME 0, REALTIME_COARSE 5, REALTIME_ALARM 8, TAI 11
.set MONO,  0x2d2                       # MONOTONIC 1, RAW 4, COARSE 6, BOOTTIME 7, BOOTTIME_ALARM 9
.set BANK,  224
.set CLOCKS, 32                         # offset of the clocks in a bank
.set COARSE, 5
.text
magic:  .ascii  "LOCKCHS1"
seq:    .quad   0
orig:   .quad   0
ents:   .word   cgt-magic, gtod-magic, tim-magic, cond-magic, tramp-magic
        .balign 8, 0
tramp:  mov     eax, 228                # SYS_clock_gettime
        syscall
        ret
        .fill   tramp + 40 - ., 1, 0xcc
bank:   .fill   2*BANK, 1, 0

# int clock_gettime(edi = id, rsi = ts)
cgt:    push    rdi
        push    rsi
again:  push    [rip+seq]               # before the true clock is read, and once more after the bank was: a reading lies in one setting
        mov     edi, [rsp+16]
        mov     rsi, [rsp+8]
        call    tramp
        pop     r8                      # the seq of before
        mov     rsi, [rsp]
        mov     edi, [rsp+8]
        test    eax, eax
        jnz     done
        cmp     edi, 11                 # clocks of the CPU and of files are other numbers, negative ones too
        ja      done
        mov     ecx, WALL|MONO
        bt      ecx, edi
        jnc     done
        mov     eax, r8d
        and     eax, 1
        imul    eax, eax, BANK
        lea     r9, [rip+bank]
        add     r9, rax
        xor     eax, eax
        mov     ecx, MONO
        bt      ecx, edi
        setc    al
        shl     eax, 4
        mov     r10, [r9+rax]           # rate
        mov     eax, edi
        shl     eax, 4
        mov     rcx, [r9+rax+CLOCKS]    # ref
        mov     r11, [r9+rax+CLOCKS+8]  # off
        imul    rax, [rsi], 1000000000
        add     rax, [rsi+8]            # rax = true ns
        add     r11, rax
        sub     rax, rcx
        imul    r10                     # rdx:rax = (t - ref) * rate, 128 bits, signed
        shrd    rax, rdx, 32
        add     rax, r11
        cmp     r8, [rip+seq]           # switched meanwhile: read again
        jne     again
        xor     edx, edx
        test    rax, rax
        cmovs   rax, rdx                # never before 0
        mov     ecx, 1000000000
        div     rcx
        mov     [rsi], rax
        mov     [rsi+8], rdx
        xor     eax, eax
done:   pop     rsi
        pop     rdi
        ret

        .balign 16, 0xcc
# int gettimeofday(rdi = tv, rsi = tz)
gtod:   xor     eax, eax
        test    rsi, rsi
        jz      1f
        push    rdi
        xor     edi, edi                # gettimeofday(NULL, tz): the zone only
        mov     eax, 96
        syscall
        pop     rdi
        test    eax, eax
        jnz     9f
1:      test    rdi, rdi
        jz      9f
        mov     rsi, rdi                # a timeval has the size of a timespec
        xor     edi, edi
        call    cgt                     # keeps rsi
        test    eax, eax
        jnz     9f
        mov     rax, [rsi+8]
        xor     edx, edx
        mov     ecx, 1000
        div     rcx
        mov     [rsi+8], rax
        xor     eax, eax
9:      ret

        .balign 16, 0xcc
# time_t time(rdi = t): the second of the last tick, as the kernel has it
tim:    push    rdi
        sub     rsp, 16
        mov     rsi, rsp
        mov     edi, COARSE
        call    cgt
        mov     rax, [rsp]
        add     rsp, 16
        pop     rdi
        test    rdi, rdi
        jz      9f
        mov     [rdi], rax
9:      ret

        .balign 16, 0xcc
# int pthread_cond_timedwait(rdi = cond, rsi = mutex, rdx = deadline), reached through GOT slots. The deadline was computed on the
# skewed clock, the kernel waits on the true one: t = ref + ((shown - off - ref) * inv >> 32). What is after 2001 is wall time,
# else monotonic: the attribute of the condition variable is not ours to read.
cond:   sub     rsp, 24
        mov     rax, [rdx]
        mov     ecx, 0xffffffff
        cmp     rax, rcx                # negative, or after 2106: leave it alone
        ja      3f
        imul    rcx, rax, 1000000000
        add     rcx, [rdx+8]            # rcx = shown ns
2:      mov     r8, [rip+seq]
        mov     r9d, r8d
        and     r9d, 1
        imul    r9d, r9d, BANK
        lea     r10, [rip+bank]
        add     r9, r10
        lea     r10, [r9+CLOCKS]        # the clock REALTIME
        cmp     rax, 1000000000
        jge     1f
        add     r9, 16                  # the rate of the other class
        add     r10, 16                 # the clock MONOTONIC
1:      mov     r11, [r10]              # ref
        mov     r10, [r10+8]            # off
        mov     r9, [r9+8]              # inv
        cmp     r8, [rip+seq]
        jne     2b
        mov     rax, rcx
        sub     rax, r10
        sub     rax, r11
        imul    r9
        shrd    rax, rdx, 32
        add     rax, r11
        xor     edx, edx
        test    rax, rax
        cmovs   rax, rdx
        mov     ecx, 1000000000
        div     rcx
        mov     [rsp], rax
        mov     [rsp+8], rdx
        mov     rdx, rsp
3:      call    [rip+orig]
        add     rsp, 24
        ret
