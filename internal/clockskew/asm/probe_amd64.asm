# A whole program for Linux on x86-64 that reads clocks when it is told to: it reads 24 bytes {function, rdi, length of the reply} from
# its standard input, calls function(rdi, buffer), writes the buffer's first bytes to its standard output, and goes on until
# its input ends. It is what Supported patches, and the measuring instrument of the tests. build.sh makes probe_amd64.bin of it.
.intel_syntax noprefix
.set BASE, 0x400000
.text
start:
# The ELF header.
        .byte   0x7f
        .ascii  "ELF"
        .byte   2, 1, 1, 0              # 64 bits, little endian, version 1, System V
        .quad   0
        .word   2, 62                   # ET_EXEC, x86-64
        .long   1
        .quad   BASE + main - start
        .quad   head - start            # program headers
        .quad   0                       # no sections
        .long   0
        .word   64, 56, 1, 0, 0, 0
# One segment: all of this file, readable and executable. The stack holds what is variable.
head:   .long   1, 5
        .quad   0, BASE, BASE, end - start, end - start, 0x1000

main:   sub     rsp, 64                 # request at rsp, reply at rsp+32
loop:   xor     ebx, ebx
1:      xor     eax, eax                # read(0, request + ebx, 24 - ebx)
        xor     edi, edi
        lea     rsi, [rsp+rbx]
        mov     edx, 24
        sub     edx, ebx
        syscall
        test    rax, rax
        jle     bye
        add     ebx, eax
        cmp     ebx, 24
        jb      1b
        mov     rdi, [rsp+8]
        lea     rsi, [rsp+32]
        mov     qword ptr [rsi], 0
        mov     qword ptr [rsi+8], 0
        call    [rsp]
        mov     [rsp+48], rax           # what the function returned follows the buffer
        mov     eax, 1                  # write(1, reply, length)
        mov     edi, 1
        lea     rsi, [rsp+32]
        mov     rdx, [rsp+16]
        syscall
        test    rax, rax
        jg      loop
bye:    mov     eax, 231                # exit_group
        xor     edi, edi
        syscall
end:
