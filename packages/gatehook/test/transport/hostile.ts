/** The behavior of hostile receivers, and the expected outcome of each attempt. */
import type { Socket } from 'node:net'
import { response } from './receivers.ts'

/** Writes `text` repeatedly, as fast as the client reads. */
function flood(socket: Socket, text: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(text)) {}
  }
  socket.on('drain', more)
  more()
}

/** Writes a byte every 10 ms, without end. */
function trickle(socket: Socket, byte: string, ms = 10): void {
  const timer = setInterval(() => socket.write(byte), ms)
  socket.on('close', () => clearInterval(timer))
}

export interface Hostile {
  readonly does: string
  readonly behaviour: (socket: Socket) => void
  /** The expected status, or the reason of the failure. */
  readonly expected: number | string
  /** The expected length of the logged body. */
  readonly loggedLength?: number
  /** With a short timeout. */
  readonly isShort?: boolean
}

const head = (lines: readonly string[]) => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n')

export const hostile: readonly Hostile[] = [
  { does: 'accepts and sends nothing', behaviour: () => {}, expected: 'timeout', isShort: true },
  {
    does: 'sends its status line byte by byte',
    behaviour: (socket) => trickle(socket, 'H'),
    expected: 'protocol',
  },
  {
    does: 'sends headers without end, slowly',
    behaviour: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX-Slow: ')
      trickle(socket, 'a')
    },
    expected: 'timeout',
    isShort: true,
  },
  {
    does: 'sends its body byte by byte, after the status',
    behaviour: (socket) => {
      socket.write(head(['Content-Length: 100000']))
      trickle(socket, 'a', 200) // of more bytes a second, the status would count
    },
    expected: 'timeout',
    isShort: true,
  },
  { does: 'resets', behaviour: (socket) => socket.resetAndDestroy(), expected: 'reset' },
  { does: 'ends without a response', behaviour: (socket) => socket.end(), expected: 'reset' },
  {
    does: 'sends a body without end',
    behaviour: (socket) => {
      socket.write(head(['Transfer-Encoding: chunked']))
      flood(socket, `4000\r\n${'a'.repeat(0x4000)}\r\n`)
    },
    expected: 200,
    loggedLength: 16_384,
  },
  {
    does: 'sends a body without length or end',
    behaviour: (socket) => {
      socket.write(head(['Connection: close']))
      flood(socket, 'a'.repeat(10_000))
    },
    expected: 200,
    loggedLength: 16_384,
  },
  {
    does: 'sends a body of a terabyte',
    behaviour: (socket) => {
      socket.write(head([`Content-Length: ${10 ** 12}`]))
      flood(socket, 'a'.repeat(10_000))
    },
    expected: 200,
    loggedLength: 16_384,
  },
  {
    does: 'sends 60 KiB',
    behaviour: (socket) => socket.write(response('a'.repeat(60_000))),
    expected: 200,
    loggedLength: 16_384,
  },
  {
    does: 'sends a shorter body than announced and ends',
    behaviour: (socket) => socket.end(`${head(['Content-Length: 10'])}abc`),
    expected: 200,
    loggedLength: 3,
  },
  {
    does: 'resets in the middle of the body',
    behaviour: (socket) => {
      socket.write(`${head(['Content-Length: 10'])}abc`, () =>
        setImmediate(() => socket.resetAndDestroy()),
      )
    },
    expected: 200,
  },
  {
    does: 'sends two lengths',
    behaviour: (socket) => socket.write(`${head(['Content-Length: 3', 'Content-Length: 4'])}abc`),
    expected: 'protocol',
  },
  {
    does: 'sends a negative length',
    behaviour: (socket) => socket.write(`${head(['Content-Length: -1'])}abc`),
    expected: 'protocol',
  },
  {
    does: 'sends a malformed chunk size',
    behaviour: (socket) => socket.write(`${head(['Transfer-Encoding: chunked'])}zz\r\nabc\r\n`),
    expected: 200,
    loggedLength: 0,
  },
  {
    does: 'sends chunk extensions without end',
    behaviour: (socket) => {
      socket.write(`${head(['Transfer-Encoding: chunked'])}1;`)
      flood(socket, 'a=b;'.repeat(2_500))
    },
    expected: 200,
    loggedLength: 0,
  },
  {
    does: 'sends trailers without end',
    behaviour: (socket) => {
      socket.write(`${head(['Transfer-Encoding: chunked'])}1\r\na\r\n0\r\n`)
      flood(socket, 'X-Trailer: aaaaaaaaaa\r\n'.repeat(100))
    },
    expected: 200,
    loggedLength: 1,
  },
  {
    does: 'sends one header of a megabyte',
    behaviour: (socket) => socket.write(head([`X-Bomb: ${'a'.repeat(1_000_000)}`])),
    expected: 'too_large',
  },
  {
    does: 'sends headers without end, fast',
    behaviour: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      flood(socket, 'X-Bomb: aaaaaaaaaa\r\n'.repeat(100))
    },
    expected: 'too_large',
  },
  {
    does: 'sends a thousand small headers',
    behaviour: (socket) => socket.write(head(Array.from({ length: 1000 }, (_, n) => `x${n}: 1`))),
    expected: 'too_large',
  },
  {
    does: 'sends headers named like members of Object.prototype',
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
    expected: 200,
    loggedLength: 0,
  },
  {
    does: 'sends a status line without end',
    behaviour: (socket) => {
      socket.write('HTTP/1.1 200 ')
      flood(socket, 'a'.repeat(10_000))
    },
    expected: 'too_large',
  },
  ...[600, 999].map((status) => ({
    does: `responds with the status ${status}`,
    behaviour: (socket: Socket) => socket.write(response('', status)),
    expected: 'protocol',
  })),
  {
    does: 'sends empty lines without end',
    behaviour: (socket) => flood(socket, '\r\n'.repeat(5_000)),
    expected: 'too_large',
  },
  {
    does: 'sends 103 once, then responds',
    behaviour: (socket) => socket.write(`HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n${response('ok')}`),
    expected: 200,
    loggedLength: 2,
  },
  {
    does: 'sends 103 without end',
    behaviour: (socket) => flood(socket, 'HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n'.repeat(100)),
    expected: 'protocol',
  },
  {
    does: 'sends an unrequested 100, then responds',
    behaviour: (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${response('ok')}`),
    expected: 200,
    loggedLength: 2,
  },
  {
    does: 'sends 100 twice, byte by byte, then 103, then responds',
    behaviour: (socket) => {
      socket.setNoDelay()
      const hundred = 'HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n'
      const text = `${hundred}${hundred}HTTP/1.1 103 Early\r\n\r\n${response('ok')}`
      const next = (at: number) =>
        socket.write(text[at]!, () => at + 1 < text.length && setImmediate(next, at + 1))
      next(0)
    },
    expected: 200,
    loggedLength: 2,
  },
  {
    does: 'begins a 100 and ends',
    behaviour: (socket) => socket.end('HTTP/1.1 100 Cont'),
    expected: 'reset',
  },
  {
    does: 'begins a 100 without end',
    behaviour: (socket) => {
      socket.write('HTTP/1.1 100 Continue\r\nX-A: ')
      flood(socket, 'a'.repeat(10_000))
    },
    expected: 'too_large',
  },
  {
    does: 'sends 100 without end',
    behaviour: (socket) => flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)),
    expected: 'protocol',
  },
  {
    does: 'sends 102 slowly, without end',
    behaviour: (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Wait\r\n\r\n'), 200)
      socket.on('close', () => clearInterval(timer))
    },
    expected: 'timeout',
    isShort: true,
  },
  {
    does: 'switches protocols',
    behaviour: (socket) =>
      socket.write('HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
    expected: 'protocol',
  },
  {
    does: 'speaks another protocol',
    behaviour: (socket) => socket.write('220 mail.example.com ESMTP\r\n'),
    expected: 'protocol',
  },
  {
    does: 'speaks HTTP/2',
    behaviour: (socket) => socket.write(Buffer.from('00000404000000000000000300000064', 'hex')),
    expected: 'protocol',
  },
  {
    does: 'sends control characters',
    behaviour: (socket) => socket.write(response('\0\x01\x02')),
    expected: 200,
    loggedLength: 3,
  },
]
