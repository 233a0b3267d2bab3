/**
 * A small name server for tests: real UDP on 127.0.0.1, with A and AAAA answers that the test chooses for each question. It never asks
 * another server.
 *
 *     const names = await startDnsServer((name, type) => (type === 'A' ? ['10.0.0.1'] : []))
 *     createGuard({ allowPrivateHosts: [], nameServers: [names.address] })
 *     names.questions     // every question that came, oldest first
 *     await names.close()
 */
import { createSocket } from 'node:dgram'
import { isIP } from 'node:net'

export type Question = { name: string; type: 'A' | 'AAAA' }
/** Addresses of the requested type; undefined: the name does not exist; `silent`: no answer. */
export type Answer = string[] | undefined | 'silent'
export type DnsServer = { address: string; questions: Question[]; close(): Promise<void> }

const types = { A: 1, AAAA: 28 }
const noSuchName = 3

export async function startDnsServer(answer: (name: string, type: Question['type'], earlier: number) => Answer): Promise<DnsServer> {
  const questions: Question[] = []
  const socket = createSocket('udp4')
  socket.on('message', (packet, peer) => {
    const { name, code, end } = questionOf(packet)
    const type = code === types.AAAA ? 'AAAA' : 'A'
    const earlier = questions.filter((one) => one.name === name && one.type === type).length
    questions.push({ name, type })
    const addresses = code === types[type] ? answer(name, type, earlier) : []
    if (addresses === 'silent') return
    const records = (addresses ?? []).map((address) => recordOf(address, code))
    const head = Buffer.alloc(12)
    packet.copy(head, 0, 0, 2)
    // an authoritative answer, with recursion available
    head.writeUInt16BE(0x8580 | (addresses === undefined ? noSuchName : 0), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    socket.send(Buffer.concat([head, packet.subarray(12, end), ...records]), peer.port, peer.address)
  })
  const bound = Promise.withResolvers<void>()
  socket.bind(0, '127.0.0.1', () => bound.resolve())
  await bound.promise
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

function questionOf(packet: Buffer): { name: string; code: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = packet[at]!; length > 0; length = packet[at]!) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), code: packet.readUInt16BE(at + 1), end: at + 5 }
}

function recordOf(address: string, code: number): Buffer {
  const bytes = isIP(address) === 4 ? address.split('.').map(Number) : bytesOf6(address)
  const record = Buffer.alloc(12)
  // the name of the question, its type, class IN, and a time to live of 0, so that it is not cached
  record.writeUInt16BE(0xc00c, 0)
  record.writeUInt16BE(code, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt16BE(bytes.length, 10)
  return Buffer.concat([record, Buffer.from(bytes)])
}

function bytesOf6(address: string): number[] {
  // URL writes every spelling with hexadecimal groups
  const [head, tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (text = ''): number[] =>
    text
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16))
  const [before, after] = [groups(head), groups(tail)]
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
  return all.flatMap((group) => [group >> 8, group & 0xff])
}
