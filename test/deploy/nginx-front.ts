/**
 * A real nginx on a private port with deploy/nginx.conf, in front of servers that the test names. Ports and paths of the file are replaced,
 * nothing else; each replacement must find what it replaces. The surrounding configuration is the worst common one for event streams:
 * compression of every type. A certificate is created for each front, and this process trusts it.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

// Debian installs nginx where only root's PATH finds it.
const env = { ...process.env, PATH: [process.env['PATH'], '/usr/sbin'].join(delimiter) }

export const nginxConf = readFileSync(join(import.meta.dirname, '../../deploy/nginx.conf'), 'utf8')

/** Why no nginx can be started here, or false. */
export const withoutNginx = (): string | false => {
  const missing = ['nginx', 'openssl'].filter((program) => spawnSync(program, ['-v'], { env }).error)
  return missing.length > 0 && `needs ${missing.join(' and ')}: apt-get install ${missing.join(' ')}`
}

export type Front = {
  /** https, with the certificate that this process trusts. */
  url: string
  port: number
  /** Lines up to now. */
  accessLog(): string[]
}

/** Starts with what has to be replaced in the shipped file; throws if it is not there. */
export function swap(text: string, from: string | RegExp, to: string): string {
  const swapped = text.replace(from, () => to)
  assert.notEqual(swapped, text, `deploy/nginx.conf has no ${String(from)}`)
  return swapped
}

/** Ends with the test. `upstreams` are base addresses; `change` modifies the shipped file. */
export async function startNginx(t: TestContext, upstreams: string[], change = (conf: string): string => conf): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-nginx-'))
  makeCertificate(folder)
  const port = await freePort()
  const servers = upstreams.map((url) => `server ${new URL(url).host} max_fails=0;`).join('\n')
  let conf = change(nginxConf)
  conf = swap(conf, /server 127\.0\.0\.1:8080 .*;/, servers)
  conf = swap(conf, 'listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`)
  conf = swap(conf, '/etc/ssl/chat.example.com.pem', join(folder, 'cert.pem'))
  conf = swap(conf, '/etc/ssl/chat.example.com.key', join(folder, 'key.pem'))
  conf = swap(conf, '/var/log/nginx/turnkeep.log', join(folder, 'access.log'))
  writeFileSync(join(folder, 'turnkeep.conf'), conf)
  writeFileSync(join(folder, 'nginx.conf'), main(folder))

  const nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  nginx.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const ended = once(nginx, 'close')
  t.after(async () => {
    nginx.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  while (!(await accepts(port))) {
    if (nginx.exitCode !== null) throw new Error(`nginx did not start:\n${said}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const accessLog = (): string[] => readFileSync(join(folder, 'access.log'), 'utf8').trim().split('\n')
  return { url: `https://127.0.0.1:${port}`, port, accessLog }
}

/** The configuration around the shipped file: nginx's own, with folders that this user may write. */
function main(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
    mkdirSync(join(folder, name))
    return `${name}_temp_path ${join(folder, name)};`
  })
  return `
    daemon off;
    worker_processes 1;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    pid ${join(folder, 'nginx.pid')};
    events { worker_connections 1024; }
    http {
      ${temporary.join('\n')}
      gzip on;
      gzip_types *;
      gzip_proxied any;
      gzip_min_length 0;
      gzip_http_version 1.0;
      include ${join(folder, 'turnkeep.conf')};
    }`
}

function makeCertificate(folder: string): void {
  const args =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1'
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
  const { status, stderr } = spawnSync('openssl', [...args.split(' '), ...files])
  assert.equal(status, 0, String(stderr))
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(join(folder, 'cert.pem'), 'utf8')])
}

/** nginx does not accept port 0. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
