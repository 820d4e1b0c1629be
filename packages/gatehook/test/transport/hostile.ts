/** What hostile receivers do with a whole request, and what an attempt is to make of each. */
import type { Socket } from 'node:net'
import { answer } from './receivers.ts'

/** Writes `text` again and again, as fast as it is taken. */
function flood(socket: Socket, text: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(text)) {}
  }
  socket.on('drain', more)
  more()
}

/** Writes one byte at a time, and never enough. */
function trickle(socket: Socket, byte: string): void {
  const timer = setInterval(() => socket.write(byte), 10)
  socket.on('close', () => clearInterval(timer))
}

export interface Hostile {
  readonly does: string
  readonly behaviour: (socket: Socket) => void
  readonly gives: number | string
  /** Of the kept body; undefined: it is not looked at. */
  readonly kept?: number
  readonly brief?: boolean
}

const head = (lines: readonly string[]) => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n')

export const hostile: readonly Hostile[] = [
  { does: 'accepts and says nothing', behaviour: () => {}, gives: 'timeout', brief: true },
  {
    does: 'sends its status line byte by byte',
    behaviour: (socket) => trickle(socket, 'H'),
    gives: 'protocol',
  },
  {
    does: 'sends headers without end, slowly',
    behaviour: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX-Slow: ')
      trickle(socket, 'a')
    },
    gives: 'timeout',
    brief: true,
  },
  {
    does: 'sends its body byte by byte: the status came, the time-out decides',
    behaviour: (socket) => {
      socket.write(head(['Content-Length: 100000']))
      trickle(socket, 'a')
    },
    gives: 'timeout',
    brief: true,
  },
  { does: 'resets', behaviour: (socket) => socket.resetAndDestroy(), gives: 'reset' },
  { does: 'ends without an answer', behaviour: (socket) => socket.end(), gives: 'reset' },
  {
    does: 'answers with a body without end',
    behaviour: (socket) => {
      socket.write(head(['Transfer-Encoding: chunked']))
      flood(socket, `4000\r\n${'a'.repeat(0x4000)}\r\n`)
    },
    gives: 200,
    kept: 16_384,
  },
  {
    does: 'answers without a length and does not stop',
    behaviour: (socket) => {
      socket.write(head(['Connection: close']))
      flood(socket, 'a'.repeat(10_000))
    },
    gives: 200,
    kept: 16_384,
  },
  {
    does: 'announces a terabyte and sends it',
    behaviour: (socket) => {
      socket.write(head([`Content-Length: ${10 ** 12}`]))
      flood(socket, 'a'.repeat(10_000))
    },
    gives: 200,
    kept: 16_384,
  },
  {
    does: 'answers 60 KiB, which is read to its end',
    behaviour: (socket) => socket.write(answer('a'.repeat(60_000))),
    gives: 200,
    kept: 16_384,
  },
  {
    does: 'sends less body than announced and ends',
    behaviour: (socket) => socket.end(`${head(['Content-Length: 10'])}abc`),
    gives: 200,
    kept: 3,
  },
  {
    does: 'resets in the middle of the body',
    behaviour: (socket) => {
      socket.write(`${head(['Content-Length: 10'])}abc`, () =>
        setImmediate(() => socket.resetAndDestroy()),
      )
    },
    gives: 200,
  },
  {
    does: 'says two lengths',
    behaviour: (socket) => socket.write(`${head(['Content-Length: 3', 'Content-Length: 4'])}abc`),
    gives: 'protocol',
  },
  {
    does: 'says a length that is none',
    behaviour: (socket) => socket.write(`${head(['Content-Length: -1'])}abc`),
    gives: 'protocol',
  },
  {
    does: 'sends a chunk size that is none',
    behaviour: (socket) => socket.write(`${head(['Transfer-Encoding: chunked'])}zz\r\nabc\r\n`),
    gives: 200,
    kept: 0,
  },
  {
    does: 'sends chunk extensions without end',
    behaviour: (socket) => {
      socket.write(`${head(['Transfer-Encoding: chunked'])}1;`)
      flood(socket, 'a=b;'.repeat(2_500))
    },
    gives: 200,
    kept: 0,
  },
  {
    does: 'sends trailers without end',
    behaviour: (socket) => {
      socket.write(`${head(['Transfer-Encoding: chunked'])}1\r\na\r\n0\r\n`)
      flood(socket, 'X-Trailer: aaaaaaaaaa\r\n'.repeat(100))
    },
    gives: 200,
    kept: 1,
  },
  {
    does: 'sends one header of a megabyte',
    behaviour: (socket) => socket.write(head([`X-Bomb: ${'a'.repeat(1_000_000)}`])),
    gives: 'too_large',
  },
  {
    does: 'sends headers without end, fast',
    behaviour: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      flood(socket, 'X-Bomb: aaaaaaaaaa\r\n'.repeat(100))
    },
    gives: 'too_large',
  },
  {
    does: 'sends a thousand small headers',
    behaviour: (socket) => socket.write(head(Array.from({ length: 1000 }, (_, n) => `x${n}: 1`))),
    gives: 'too_large',
  },
  {
    does: 'sends headers named after the parts of an object',
    behaviour: (socket) =>
      socket.write(
        head([
          '__proto__: a',
          '__proto__: b',
          'constructor: c',
          'toString: d',
          'Content-Length: 0',
        ]),
      ),
    gives: 200,
    kept: 0,
  },
  {
    does: 'sends a status line without end',
    behaviour: (socket) => {
      socket.write('HTTP/1.1 200 ')
      flood(socket, 'a'.repeat(10_000))
    },
    gives: 'too_large',
  },
  {
    does: 'sends empty lines without end',
    behaviour: (socket) => flood(socket, '\r\n'.repeat(5_000)),
    gives: 'too_large',
  },
  {
    does: 'says 103 once, then answers',
    behaviour: (socket) => socket.write(`HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n${answer('ok')}`),
    gives: 200,
    kept: 2,
  },
  {
    does: 'says 103 without end',
    behaviour: (socket) => flood(socket, 'HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n'.repeat(100)),
    gives: 'protocol',
  },
  {
    does: 'says 100, though nobody asked, then answers',
    behaviour: (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${answer('ok')}`),
    gives: 200,
    kept: 2,
  },
  {
    does: 'says 100 twice, a byte at a time, then 103, then answers',
    behaviour: (socket) => {
      socket.setNoDelay()
      const hundred = 'HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n'
      const text = `${hundred}${hundred}HTTP/1.1 103 Early\r\n\r\n${answer('ok')}`
      const next = (at: number) =>
        socket.write(text[at]!, () => at + 1 < text.length && setImmediate(next, at + 1))
      next(0)
    },
    gives: 200,
    kept: 2,
  },
  {
    does: 'begins a 100 and ends',
    behaviour: (socket) => socket.end('HTTP/1.1 100 Cont'),
    gives: 'reset',
  },
  {
    does: 'begins a 100 without end',
    behaviour: (socket) => {
      socket.write('HTTP/1.1 100 Continue\r\nX-A: ')
      flood(socket, 'a'.repeat(10_000))
    },
    gives: 'too_large',
  },
  {
    does: 'says 100 without end',
    behaviour: (socket) => flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)),
    gives: 'protocol',
  },
  {
    does: 'says 102 slowly and never more',
    behaviour: (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Wait\r\n\r\n'), 20)
      socket.on('close', () => clearInterval(timer))
    },
    gives: 'timeout',
    brief: true,
  },
  {
    does: 'switches protocols',
    behaviour: (socket) =>
      socket.write('HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
    gives: 'protocol',
  },
  {
    does: 'speaks something else',
    behaviour: (socket) => socket.write('220 mail.example.com ESMTP\r\n'),
    gives: 'protocol',
  },
  {
    does: 'speaks HTTP/2',
    behaviour: (socket) => socket.write(Buffer.from('00000404000000000000000300000064', 'hex')),
    gives: 'protocol',
  },
  {
    does: 'answers with bytes that are no text',
    behaviour: (socket) => socket.write(answer('\0\x01\x02')),
    gives: 200,
    kept: 3,
  },
]
