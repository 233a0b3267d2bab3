/**
 * The files in deploy/ are consistent: the drain fits into each supervisor's grace period, no secret has a default, every setting is one
 * that the server knows, probes request existing paths. The files were also checked with third-party tools (docs/decisions/0017-deploy.md).
 */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig, settings } from '../../src/config/config.ts'
import { turnDefaults } from '../../src/turn/turn-settings.ts'
import { startTestLayer } from '../support/test-http-layer.ts'
import { image, imageUser } from './image-root.ts'
import { environmentOf } from './dockerfile.ts'

const project = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(project, file), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }
const drainSeconds = Number(settings.drainSeconds.initial)
// workers.ts: the extra time beyond its drain that a stuck process gets.
const stuckSeconds = Number(/^const drainGraceMs = (\d+)_000$/m.exec(read('src/process/workers.ts'))![1])
const seconds = (text: string): number => Number(/^(\d+)s?$/.exec(text)![1])
const isTaken = (environment: Record<string, string>): string[] => {
  const outcome = readConfig({ ...environmentOf(image), ...environment })
  return outcome.kind === 'config' ? [] : outcome.problems
}
const key = Buffer.alloc(32, 7).toString('base64')

void test('deploy: the drain is longer than a turn', () => assert.ok(drainSeconds * 1000 > turnDefaults.turnMs))

void describe('deploy/compose.yaml', () => {
  const text = read('deploy/compose.yaml')
  const compose = parse(text) as { services: Record<string, any>; networks: Record<string, any>; volumes: Record<string, unknown> }
  const { turnkeep, postgres, valkey } = compose.services

  test('builds this version from the Dockerfile, beside PostgreSQL 17 and Valkey 8', () => {
    assert.equal(turnkeep.image, `turnkeep:${version}`)
    assert.ok(existsSync(join(project, 'deploy', turnkeep.build.context, turnkeep.build.dockerfile)))
    assert.match(postgres.image, /^postgres:17-/)
    assert.match(valkey.image, /^valkey\/valkey:8$/)
    assert.deepEqual(turnkeep.depends_on, { postgres: { condition: 'service_healthy' }, valkey: { condition: 'service_healthy' } })
    for (const service of [postgres, valkey]) assert.ok(service.healthcheck.test.length > 1)
  })

  test('no secret has a default or is in the file: a missing one is refused', () => {
    const secrets = ['POSTGRES_PASSWORD', 'VALKEY_PASSWORD', 'TURNKEEP_ADMIN_TOKEN', 'TURNKEEP_ENCRYPTION_KEY']
    const used = [...text.matchAll(/\$\{(\w+)(:[?-])?([^}]*)\}/g)]
    for (const secret of secrets)
      assert.ok(
        used.some(([, name]) => name === secret),
        secret,
      )
    for (const [whole, name, how, rest] of used)
      if (secrets.includes(name!)) assert.ok(how === ':?' && existsSync(join(project, /docs\/\S+/.exec(rest!)![0])), whole)
      else assert.equal(how, ':-', whole)
    // A search for a hard-coded password finds a reference instead.
    for (const [, value] of text.matchAll(/(?:PASSWORD|TOKEN|KEY|AUTH): (.*)$/gm)) assert.match(value!, /^\$\{\w+:\?.*\}$/)
  })

  test('the server starts with these settings, with the secrets filled in', () => {
    const values: Record<string, string> = {
      POSTGRES_PASSWORD: 'a1',
      VALKEY_PASSWORD: 'b2',
      TURNKEEP_ADMIN_TOKEN: '9f2c41d07be85a3610c7d4e2f8b59a63',
      TURNKEEP_ENCRYPTION_KEY: key,
    }
    const filled = Object.entries<string>(turnkeep.environment).map(([name, value]) => [
      name,
      value.replace(
        /\$\{(\w+):([?-])([^}]*)\}/g,
        (_, variable: string, how: string, rest: string) => values[variable] ?? (how === '-' ? rest : assert.fail(variable)),
      ),
    ])
    assert.deepEqual(isTaken(Object.fromEntries(filled)), [])
    const ports = turnkeep.ports as string[]
    assert.deepEqual(ports, ['127.0.0.1:8080:8080', `127.0.0.1:8081:${turnkeep.environment.TURNKEEP_ADMIN_PORT}`])
  })

  test('nothing is writable, no privileges, and time to drain', () => {
    assert.equal(turnkeep.read_only, true)
    assert.deepEqual(turnkeep.ulimits, { core: 0 })
    assert.deepEqual(turnkeep.cap_drop, ['ALL'])
    assert.deepEqual(turnkeep.security_opt, ['no-new-privileges:true'])
    assert.equal(turnkeep.volumes, undefined)
    assert.equal(turnkeep.environment.TURNKEEP_DEMO, undefined)
    assert.ok(seconds(turnkeep.stop_grace_period) > drainSeconds + stuckSeconds)
    assert.equal(compose.networks['inside'].internal, true)
    for (const service of [postgres, valkey]) assert.deepEqual([service.networks, service.ports], [['inside'], undefined])
    // The windows are never evicted for lack of memory: a full store refuses, and the service reports it.
    assert.match(valkey.command, /--maxmemory-policy noeviction/)
    assert.doesNotMatch(postgres.command, /fsync|synchronous_commit/)
  })
})

void describe('deploy/kubernetes', () => {
  const objects = globSync('deploy/kubernetes/*.yaml', { cwd: project }).flatMap((file) => {
    const documents = parseAllDocuments(read(file))
    return documents.map((document) => {
      assert.deepEqual(document.errors, [], file)
      return document.toJS() as Record<string, any>
    })
  })
  const the = (kind: string, name = 'turnkeep'): any =>
    objects.find((object) => object['kind'] === kind && object['metadata'].name === name)
  const { spec } = the('Deployment')
  const pod = spec.template.spec
  const [container] = pod.containers
  const preStopSeconds = Number(container.lifecycle.preStop.exec.command[1])

  test('a pod is left alone until it has drained: preStop, drain, and the extra time of a stuck process', () => {
    const drain = Number(container.env.find(({ name }: { name: string }) => name === 'TURNKEEP_DRAIN_SECONDS').value)
    assert.equal(drain, drainSeconds)
    assert.ok(pod.terminationGracePeriodSeconds >= preStopSeconds + drain + stuckSeconds + 5)
    assert.deepEqual(container.lifecycle.preStop.exec.command, ['sleep', '10'])
    const { periodSeconds, failureThreshold } = container.readinessProbe
    assert.ok(preStopSeconds >= periodSeconds * failureThreshold, 'a balancer that only probes hears of it in time')
  })

  test('probes check the status of existing paths, and a start may wait for the database and a migration', async () => {
    await using layer = await startTestLayer()
    const ports = Object.fromEntries(
      container.ports.map(({ name, containerPort }: { name: string; containerPort: number }) => [name, containerPort]),
    )
    for (const probe of [container.startupProbe, container.readinessProbe, container.livenessProbe]) {
      assert.equal((await fetch(`${layer.url}${probe.httpGet.path}`)).status, 200)
      assert.equal(ports[probe.httpGet.port], Number(environmentOf(image)['PORT']))
    }
    assert.equal(container.livenessProbe.httpGet.path, '/healthz')
    assert.equal(container.readinessProbe.httpGet.path, '/readyz')
    const store = read('src/store/postgres/postgres.ts')
    const waitSeconds = ['openMs', 'firstContactMs'].map((name) => Number(new RegExp(`^const ${name} = (\\d+)_000$`, 'm').exec(store)![1]))
    const { periodSeconds, failureThreshold } = container.startupProbe
    assert.ok(periodSeconds * failureThreshold > waitSeconds[0]! + waitSeconds[1]!)
  })

  test('no root, nothing writable, no privileges; secrets by reference alone', () => {
    assert.deepEqual([pod.securityContext.runAsNonRoot, pod.securityContext.runAsUser], [true, imageUser])
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    assert.deepEqual([pod.volumes, container.volumeMounts], [undefined, undefined])
    assert.equal(container.image, `turnkeep:${version}`)
    assert.deepEqual(
      objects.filter(({ kind }) => kind === 'Secret'),
      [],
    )
    const given = Object.fromEntries(container.env.map(({ name, value, valueFrom }: any) => [name, value ?? valueFrom.secretKeyRef]))
    const secret = ['DATABASE_URL', 'REDIS_URL', 'TURNKEEP_ADMIN_TOKEN', 'TURNKEEP_ENCRYPTION_KEY']
    for (const name of secret) assert.equal(given[name].name, 'turnkeep', name)
    const filled = {
      DATABASE_URL: 'postgres://a:b@c/d',
      REDIS_URL: 'redis://a',
      TURNKEEP_ADMIN_TOKEN: '9f2c41d07be85a3610c7d4e2f8b59a63',
      TURNKEEP_ENCRYPTION_KEY: key,
    }
    assert.deepEqual(isTaken({ ...given, ...filled }), [])
    assert.equal(environmentOf(image)['TURNKEEP_HOST'], '0.0.0.0')
  })

  test('the variables that Kubernetes sets for a Service of this name are not settings, so they are disabled', () => {
    assert.ok(the('Service'))
    assert.equal(isTaken({ TURNKEEP_PORT: 'tcp://10.0.0.1:80', TURNKEEP_SERVICE_HOST: '10.0.0.1' }).length, 2)
    assert.equal(pod.enableServiceLinks, false)
  })

  test('every selector finds the pods, every port has its name, and an update removes none before its replacement is ready', () => {
    const labels = spec.template.metadata.labels
    for (const selector of [
      spec.selector.matchLabels,
      the('PodDisruptionBudget').spec.selector.matchLabels,
      the('Service').spec.selector,
      the('Service', 'turnkeep-admin').spec.selector,
    ])
      assert.deepEqual(selector, labels)
    for (const constraint of pod.topologySpreadConstraints) assert.deepEqual(constraint.labelSelector.matchLabels, labels)
    const names = container.ports.map(({ name }: { name: string }) => name)
    for (const name of ['turnkeep', 'turnkeep-admin'])
      for (const port of the('Service', name).spec.ports) assert.ok(names.includes(port.targetPort))
    assert.equal(spec.replicas, 3)
    assert.deepEqual(spec.strategy.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 })
    assert.equal(the('PodDisruptionBudget').spec.maxUnavailable, 1)
    const { backend } = the('Ingress').spec.rules[0].http.paths[0]
    assert.deepEqual(backend.service, { name: 'turnkeep', port: { name: the('Service').spec.ports[0].name } })
  })

  test('the policy selects the pods: the admin port for labeled pods alone, and no private or metadata address by a public rule', () => {
    const { podSelector, policyTypes, ingress, egress } = the('NetworkPolicy').spec
    assert.deepEqual([podSelector.matchLabels, policyTypes], [spec.template.metadata.labels, ['Ingress', 'Egress']])
    const ports = container.ports.map(({ name }: { name: string }) => name)
    for (const rule of ingress) for (const { port } of rule.ports) assert.ok(ports.includes(port), port)
    for (const rule of ingress.filter((one: any) => one.ports.some(({ port }: any) => port === 'admin')))
      for (const peer of rule.from) assert.ok(Object.keys(peer.podSelector.matchLabels).length > 0)
    assert.ok(
      egress.every((rule: any) => rule.to.length > 0 && rule.ports.length > 0),
      'a rule without peers or ports allows all of them',
    )
    const blocks = egress.flatMap((rule: any) => rule.to).flatMap(({ ipBlock }: any) => ipBlock ?? [])
    const wide = blocks.find(({ cidr }: any) => cidr === '0.0.0.0/0')
    const refused = new BlockList()
    for (const range of wide.except as string[]) refused.addSubnet(range.split('/')[0]!, Number(range.split('/')[1]), 'ipv4')
    for (const address of ['10.1.2.3', '127.0.0.1', '169.254.169.254', '172.20.0.1', '192.168.1.1', '100.100.100.200', '168.63.129.16'])
      assert.ok(refused.check(address), address)
    assert.equal(refused.check('93.184.216.34'), false)
  })

  test('the ingress passes streams: no buffering, and its timeout is longer than a turn', () => {
    const annotations = the('Ingress').metadata.annotations as Record<string, string>
    const value = (name: string): string => annotations[`nginx.ingress.kubernetes.io/${name}`]!
    assert.equal(value('proxy-buffering'), 'off')
    assert.ok(Number(value('proxy-read-timeout')) * 1000 > turnDefaults.answerMs)
    // The same directives as the nginx file, which is run.
    const nginx = read('deploy/nginx.conf')
    for (const directive of ['proxy-next-upstream', 'proxy-next-upstream-tries'])
      assert.ok(nginx.includes(`${directive.replaceAll('-', '_')} ${value(directive)};`), directive)
  })
})

void describe('deploy/turnkeep.service', () => {
  const lines = read('deploy/turnkeep.service')
    .split('\n')
    .filter((line) => /^\w+=/.test(line))
  const unit = Object.fromEntries(lines.map((line) => [line.split('=', 1)[0]!, line.slice(line.indexOf('=') + 1)]))

  test('starts the installed package, with settings that the server accepts, and waits for its drain', () => {
    const [node, program, command] = unit['ExecStart']!.split(' ')
    assert.equal(node, '/opt/turnkeep/node_modules/.bin/node')
    assert.ok(existsSync(join(project, program!.slice('/opt/turnkeep'.length))))
    assert.equal(command, 'serve')
    const environment = Object.fromEntries(unit['Environment']!.split(' ').map((pair) => pair.split('=')))
    assert.deepEqual(isTaken(environment), [])
    assert.equal(environment.TURNKEEP_DATA_DIR, `/var/lib/${unit['StateDirectory']}`)
    assert.ok(seconds(unit['TimeoutStopSec']!) > drainSeconds + stuckSeconds)
    assert.equal(unit['KillMode'], 'mixed')
    assert.equal(unit['Restart'], 'on-failure')
    // Otherwise an out-of-memory kill of the process that reads a document would end all.
    assert.equal(unit['OOMPolicy'], 'continue')
  })

  test('has no privileges, and writes to its state directory alone', () => {
    assert.deepEqual([unit['CapabilityBoundingSet'], unit['NoNewPrivileges'], unit['ProtectSystem']], ['', 'true', 'strict'])
    // Node compiles at run time.
    assert.equal(unit['MemoryDenyWriteExecute'], undefined)
    assert.equal(unit['User'], 'turnkeep')
    // A core file would contain secrets.
    assert.equal(unit['LimitCORE'], '0')
    // What `unshare` gets for the process that reads documents.
    const used = [...read('src/process/confinement.ts').matchAll(/'--(user|net|ipc|pid)'/g)].map(([, name]) => name!)
    assert.deepEqual(unit['RestrictNamespaces']!.split(' ').toSorted(), used.toSorted())
  })
})
