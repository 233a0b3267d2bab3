/** The settings table: every default, every refusal, and no secret in any line. */
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readConfig, settings } from '../../src/config/config.ts'
import type { Config, Environment } from '../../src/config/config.ts'

function configOf(environment: Environment): Config {
  const outcome = readConfig(environment)
  assert.equal(outcome.kind, 'config', JSON.stringify(outcome))
  return (outcome as { config: Config }).config
}

function problemsOf(environment: Environment): string[] {
  const outcome = readConfig(environment)
  return outcome.kind === 'problems' ? outcome.problems : []
}

/** Settings that are required together with a database that several machines share. */
const shared = (environment: Environment): Environment => ({
  TURNKEEP_ADMIN_TOKEN: 'a-long-enough-token',
  TURNKEEP_ENCRYPTION_KEY: key,
  ...environment,
})

const key = Buffer.alloc(32, 7).toString('base64')

describe('settings: accepted', () => {
  test('an empty environment gives the defaults', () => {
    assert.deepEqual(configOf({}), {
      port: 8080,
      host: '127.0.0.1',
      adminHost: '127.0.0.1',
      dataFolder: resolve('.turnkeep'),
      adminTokenEnabled: true,
      adminRateLimit: 3000,
      adminMaxParallel: 64,
      oidcName: 'company account',
      oidcDomains: [],
      lostSecrets: false,
      workers: 1,
      maxTurns: 1000,
      drainSeconds: 115,
      traceDays: 14,
      documentCpuMinutes: 30,
      maxQueuedDocuments: 2000,
      demo: true,
      logLevel: 'info',
      allowedPrivateHosts: [],
      failpoints: '',
    })
  })

  test('an empty value counts as absent', () => {
    assert.deepEqual(configOf({ PORT: '', TURNKEEP_ADMIN_TOKEN: '', DATABASE_URL: '' }), configOf({}))
  })

  const accepted: [string, string, keyof Config, unknown][] = [
    ['PORT', '0', 'port', 0],
    ['PORT', '65535', 'port', 65_535],
    ['TURNKEEP_HOST', '0.0.0.0', 'host', '0.0.0.0'],
    ['TURNKEEP_HOST', '::1', 'host', '::1'],
    ['TURNKEEP_HOST', 'localhost', 'host', 'localhost'],
    ['TURNKEEP_PUBLIC_URL', 'https://chat.example.com/', 'publicUrl', 'https://chat.example.com'],
    ['TURNKEEP_PUBLIC_URL', 'http://example.com:81/base/', 'publicUrl', 'http://example.com:81/base'],
    ['TURNKEEP_ADMIN_PORT', '9090', 'adminPort', 9090],
    ['TURNKEEP_DATA_DIR', '/var/lib/turnkeep', 'dataFolder', '/var/lib/turnkeep'],
    ['TURNKEEP_ADMIN_TOKEN', 'a-long-enough-token', 'adminToken', 'a-long-enough-token'],
    ['TURNKEEP_ADMIN_TOKEN_ENABLED', 'off', 'adminTokenEnabled', false],
    ['TURNKEEP_ENCRYPTION_KEY', `${key}, ${key}`, 'encryptionKeys', [Buffer.alloc(32, 7), Buffer.alloc(32, 7)]],
    ['TURNKEEP_WORKERS', '1', 'workers', 1],
    ['TURNKEEP_MAX_TURNS', '1', 'maxTurns', 1],
    ['TURNKEEP_DRAIN_SECONDS', '0', 'drainSeconds', 0],
    ['TURNKEEP_RETENTION_DAYS', '30', 'retentionDays', 30],
    ['TURNKEEP_TRACE_DAYS', '0', 'traceDays', 0],
    ['TURNKEEP_CONSOLE_URL', 'https://console.acme.example/', 'consoleUrl', 'https://console.acme.example'],
    ['TURNKEEP_OIDC_NAME', 'Acme Ltd', 'oidcName', 'Acme Ltd'],
    ['TURNKEEP_DEMO', 'off', 'demo', false],
    ['TURNKEEP_LOG_LEVEL', 'silent', 'logLevel', 'silent'],
    [
      'TURNKEEP_ALLOW_PRIVATE_HOSTS',
      'Files.local:80, 10.0.0.1:8443,[::1]:80',
      'allowedPrivateHosts',
      ['files.local:80', '10.0.0.1:8443', '[::1]:80'],
    ],
    ['OPENAI_API_KEY', 'sk-1', 'openaiApiKey', 'sk-1'],
    ['ANTHROPIC_API_KEY', 'sk-2', 'anthropicApiKey', 'sk-2'],
  ]
  for (const [name, text, field, value] of accepted) {
    test(`${name}=${name.endsWith('_KEY') ? '…' : text}`, () => assert.deepEqual(configOf({ [name]: text })[field], value))
  }

  for (const address of [
    'postgres://turnkeep:p%2Fw%25@db.internal:5432/turnkeep?sslmode=verify-full',
    'postgresql://db.internal',
    'postgres:///turnkeep?host=/var/run/postgresql',
    'postgres://u:p@[::1]:5432/d',
  ])
    test(`DATABASE_URL=${address}`, () => assert.equal(configOf(shared({ DATABASE_URL: address })).databaseUrl, address))

  for (const address of ['redis://cache', 'rediss://u:p%40@cache:6380/3', 'valkey://cache/', 'valkeys://:p@[::1]:6379'])
    test(`REDIS_URL=${address}, with either database`, () => {
      assert.equal(configOf({ REDIS_URL: address }).redisUrl, address)
      assert.equal(configOf(shared({ DATABASE_URL: 'postgres://h/d', REDIS_URL: address })).redisUrl, address)
    })

  test('with DATABASE_URL there may be several workers, and a demo only on request', () => {
    const environment = shared({ DATABASE_URL: 'postgres://h/d', TURNKEEP_WORKERS: '4' })
    const { workers, demo } = configOf(environment)
    assert.deepEqual([workers, demo], [4, false])
    assert.equal(configOf({ ...environment, TURNKEEP_DEMO: 'on' }).demo, true)
  })

  test('TURNKEEP_FAILPOINTS with NODE_ENV=test', () => {
    const failpoints = 'settle.before-commit=kill@3; model.delta=delay:5 if:slow'
    assert.equal(configOf({ TURNKEEP_FAILPOINTS: failpoints, NODE_ENV: 'test' }).failpoints, failpoints)
  })
})

describe('settings: the identity provider', () => {
  const provider = { TURNKEEP_OIDC_ISSUER: 'https://id.acme.example/', TURNKEEP_OIDC_CLIENT_ID: 'turnkeep' }
  const problems = (environment: Record<string, string>): string[] => {
    const outcome = readConfig(environment)
    return outcome.kind === 'problems' ? outcome.problems : []
  }

  test('is complete or refused, and its secret is not in a message', () => {
    assert.deepEqual(problems(provider), [])
    assert.equal(configOf(provider).oidcIssuer, 'https://id.acme.example/', 'exactly as it was set')
    assert.deepEqual(problems({ TURNKEEP_OIDC_ISSUER: 'https://id.acme.example' }), [
      'TURNKEEP_OIDC_ISSUER: requires TURNKEEP_OIDC_CLIENT_ID',
    ])
    assert.deepEqual(problems({ TURNKEEP_OIDC_CLIENT_SECRET: 'a-secret', TURNKEEP_OIDC_DOMAINS: 'acme.example' }), [
      'TURNKEEP_OIDC_CLIENT_SECRET: requires TURNKEEP_OIDC_ISSUER',
      'TURNKEEP_OIDC_DOMAINS: requires TURNKEEP_OIDC_ISSUER',
    ])
    assert.deepEqual(problems({ ...provider, TURNKEEP_OIDC_ROLE_CLAIM: 'groups' }), [
      'TURNKEEP_OIDC_ROLE_CLAIM: requires TURNKEEP_OIDC_ROLES',
    ])
    assert.deepEqual(problems({ ...provider, TURNKEEP_OIDC_ROLES: 'admin=a' }), ['TURNKEEP_OIDC_ROLES: requires TURNKEEP_OIDC_ROLE_CLAIM'])
    assert.deepEqual(problems({ ...provider, TURNKEEP_OIDC_CLIENT_SECRET: 'a secret' }), [
      'TURNKEEP_OIDC_CLIENT_SECRET: must be visible ASCII characters',
    ])
  })

  test('has the roles in the order in which they count, and domains in lower case', () => {
    const { oidcRoles, oidcDomains } = configOf({
      ...provider,
      TURNKEEP_OIDC_ROLE_CLAIM: 'groups',
      TURNKEEP_OIDC_ROLES: 'viewer=staff, admin=a=b ,viewer=guests',
      TURNKEEP_OIDC_DOMAINS: ' Acme.example,acme-labs.example, ',
    })
    assert.deepEqual(oidcRoles, [
      ['admin', 'a=b'],
      ['viewer', 'staff'],
      ['viewer', 'guests'],
    ])
    assert.deepEqual(oidcDomains, ['acme.example', 'acme-labs.example'])
  })

  test('has an https address, except on this machine, and is one tenant', () => {
    for (const issuer of ['http://localhost:8080', 'http://127.0.0.1/realms/a', 'http://[::1]:9'])
      assert.deepEqual(problems({ ...provider, TURNKEEP_OIDC_ISSUER: issuer }), [])
    for (const issuer of ['http://id.acme.example', 'id.acme.example', 'https://id.acme.example/?a', 'http://localhost.acme.example'])
      assert.match(problems({ ...provider, TURNKEEP_OIDC_ISSUER: issuer })[0]!, /^TURNKEEP_OIDC_ISSUER: must be an https URL/, issuer)
    assert.match(
      problems({ ...provider, TURNKEEP_OIDC_ISSUER: 'https://login.microsoftonline.com/common/v2.0' })[0]!,
      /issuer of your own tenant/,
    )
    for (const roles of ['admin', 'admin=', 'owner=a', '=a', ''].filter(Boolean))
      assert.match(
        problems({ ...provider, TURNKEEP_OIDC_ROLE_CLAIM: 'g', TURNKEEP_OIDC_ROLES: roles })[0]!,
        /^TURNKEEP_OIDC_ROLES: must be/,
        roles,
      )
    for (const names of ['acme', 'acme.example/x', '@acme.example'])
      assert.match(problems({ ...provider, TURNKEEP_OIDC_DOMAINS: names })[0]!, /^TURNKEEP_OIDC_DOMAINS: must be/)
  })
})

describe('settings: the parts of an address that are shown', () => {
  for (const [text, shown] of [
    ['postgres://turnkeep:canary@db:5432/turnkeep?sslmode=require&password=canary', 'postgres://turnkeep:…@db:5432/turnkeep'],
    ['redis://canary@cache/1', 'redis://cache/1'],
    ['rediss://:canary@cache:6380', 'rediss://:…@cache:6380'],
    ['postgres://turnkeep:12/canary@db/turnkeep', '(hidden)'],
    ['https://canary', '(hidden)'],
  ] as const)
    test(text, () => assert.equal(settings.databaseUrl.shown(text), shown))
})

describe('settings: refused with one line that names the setting and what is accepted', () => {
  const refused: [string, string, RegExp][] = [
    ['PORT', '65536', /^PORT: must be a whole number from 0 to 65535, not "65536"$/],
    ['PORT', '-1', /^PORT: /],
    ['PORT', '80a', /^PORT: /],
    ['PORT', '0x50', /^PORT: /],
    ['PORT', ' 80', /^PORT: /],
    ['TURNKEEP_HOST', 'http://localhost', /^TURNKEEP_HOST: must be an IP address or a host name/],
    ['TURNKEEP_HOST', '-a', /^TURNKEEP_HOST: /],
    ['TURNKEEP_PUBLIC_URL', 'chat.example.com', /^TURNKEEP_PUBLIC_URL: must be an http or https URL/],
    ['TURNKEEP_PUBLIC_URL', 'ftp://chat.example.com', /^TURNKEEP_PUBLIC_URL: /],
    ['TURNKEEP_PUBLIC_URL', 'https://a.example/?b', /^TURNKEEP_PUBLIC_URL: /],
    ['TURNKEEP_ADMIN_PORT', 'x', /^TURNKEEP_ADMIN_PORT: /],
    ['TURNKEEP_DATA_DIR', 'a\0b', /^TURNKEEP_DATA_DIR: must be a path/],
    [
      'TURNKEEP_ADMIN_TOKEN',
      'fifteen-letters',
      /^TURNKEEP_ADMIN_TOKEN: must be 16 to 512 visible ASCII characters that are hard to guess$/,
    ],
    ['TURNKEEP_ADMIN_TOKEN', 'changeme-changeme-changeme', /^TURNKEEP_ADMIN_TOKEN: is easy to guess; set a random value/],
    ['TURNKEEP_ADMIN_TOKEN', 'MyPassw0rd-for-the-admin', /^TURNKEEP_ADMIN_TOKEN: is easy to guess/],
    ['TURNKEEP_ADMIN_TOKEN', 'abcabcabcabcabcabc', /^TURNKEEP_ADMIN_TOKEN: is easy to guess/],
    ['TURNKEEP_ADMIN_HOST', '127.0.0.1', /^TURNKEEP_ADMIN_HOST: requires TURNKEEP_ADMIN_PORT/],
    ['TURNKEEP_LOST_SECRETS', 'yes', /^TURNKEEP_LOST_SECRETS: must be on or off, not "yes"$/],
    ['TURNKEEP_ADMIN_TOKEN', 'with a space', /^TURNKEEP_ADMIN_TOKEN: /],
    ['TURNKEEP_ENCRYPTION_KEY', 'c2hvcnQ=', /^TURNKEEP_ENCRYPTION_KEY: must be a comma-separated list of 32-byte keys in base64$/],
    ['TURNKEEP_ENCRYPTION_KEY', `${key},`, /^TURNKEEP_ENCRYPTION_KEY: /],
    ['TURNKEEP_WORKERS', '0', /^TURNKEEP_WORKERS: must be a whole number from 1/],
    ['TURNKEEP_WORKERS', '2', /^TURNKEEP_WORKERS: more than 1 requires DATABASE_URL; only one process can use the embedded database$/],
    ['TURNKEEP_WORKERS', '1025', /^TURNKEEP_WORKERS: must be a whole number from 1 to 1024, not "1025"$/],
    ['TURNKEEP_MAX_TURNS', '0', /^TURNKEEP_MAX_TURNS: /],
    ['TURNKEEP_DRAIN_SECONDS', '1.5', /^TURNKEEP_DRAIN_SECONDS: /],
    ['TURNKEEP_RETENTION_DAYS', '0', /^TURNKEEP_RETENTION_DAYS: /],
    ['TURNKEEP_DEMO', 'maybe', /^TURNKEEP_DEMO: must be on or off, not "maybe"$/],
    ['TURNKEEP_DEMO', 'toString', /^TURNKEEP_DEMO: /],
    ['TURNKEEP_LOG_LEVEL', 'loud', /^TURNKEEP_LOG_LEVEL: must be one of fatal, error, warn, info, debug, trace, silent/],
    ['TURNKEEP_ALLOW_PRIVATE_HOSTS', 'files.local', /^TURNKEEP_ALLOW_PRIVATE_HOSTS: must be a comma-separated list of host:port/],
    ['TURNKEEP_ALLOW_PRIVATE_HOSTS', 'files.local:0', /^TURNKEEP_ALLOW_PRIVATE_HOSTS: /],
    ['REDIS_URL', 'h:6379', /^REDIS_URL: must be a URL such as redis:/],
    ['REDIS_URL', 'http://h', /^REDIS_URL: /],
    ['REDIS_URL', 'redis://', /^REDIS_URL: /],
    ['REDIS_URL', 'redis://h/first', /^REDIS_URL: /],
    ['REDIS_URL', 'redis://u:p%@h', /^REDIS_URL: /],
    ['OPENAI_API_KEY', 'a b', /^OPENAI_API_KEY: /],
    ['ANTHROPIC_API_KEY', 'a\nb', /^ANTHROPIC_API_KEY: /],
    ['TURNKEEP_FAILPOINTS', 'admit.after-commit=kill', /^TURNKEEP_FAILPOINTS: can only be set with NODE_ENV=test$/],
    ['TURNKEEP_MAX_TURN', '5', /^TURNKEEP_MAX_TURN: unknown setting; did you mean TURNKEEP_MAX_TURNS\?$/],
    ['TURNKEEP_COLOUR', 'red', /^TURNKEEP_COLOUR: unknown setting; run npx --no-install turnkeep config for a list of all settings$/],
  ]
  for (const [name, text, line] of refused) {
    test(`${name}=${JSON.stringify(text)}`, () => {
      const [problem, ...others] = problemsOf({ [name]: text })
      assert.match(problem ?? '', line)
      assert.deepEqual(others, [])
    })
  }

  for (const address of [
    'mysql://u:secret@h/d',
    'host=h dbname=d',
    'postgres://u:12/secret@h/d',
    'postgres://u:12?secret@h/d',
    'postgres://u:12#secret@h/d',
    'postgres://u:secret%@h/d',
    'postgres://u:secret%zz@h/d',
    'postgres://one:1,two:2/d',
    'postgres://one,two/d',
    'postgres://u:secret word@h/d',
  ]) {
    test(`DATABASE_URL=${address}`, () => {
      const problems = problemsOf(shared({ DATABASE_URL: address }))
      assert.equal(problems.length, 1)
      assert.match(
        problems[0]!,
        /^DATABASE_URL: must be a URL such as postgres:\/\/user:password@host:5432\/database; .* %2F, %3F, %23, %40$/,
      )
    })
  }

  test('DATABASE_URL without the token and the key that every machine needs', () => {
    assert.deepEqual(problemsOf({ DATABASE_URL: 'postgres://h/d' }), [
      'TURNKEEP_ADMIN_TOKEN: must be set with DATABASE_URL, to the same value on every machine',
      'TURNKEEP_ENCRYPTION_KEY: must be set with DATABASE_URL, to the same value on every machine',
    ])
  })

  test('an unknown failpoint name', () => {
    assert.deepEqual(problemsOf({ NODE_ENV: 'test', TURNKEEP_FAILPOINTS: 'settle.later=kill' }), [
      'TURNKEEP_FAILPOINTS: "settle.later" is not the name of a failpoint',
    ])
  })

  test('every problem is reported at once', () => {
    assert.equal(problemsOf({ PORT: 'x', TURNKEEP_DEMO: 'x', TURNKEEP_X: 'x' }).length, 3)
  })

  test('any value gives one line, which never contains a secret', () => {
    const names = Object.values(settings)
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string({ minLength: 1, maxLength: 300, unit: 'binary' }), (setting, text) => {
        const problems = problemsOf({ [setting.name]: text })
        assert.ok(problems.every((problem) => !/[\0-\x1f]/.test(problem) && problem.length < 300))
        if ('secret' in setting && text.length > 3)
          assert.ok(problems.every((problem) => !problem.includes(text) || setting.accepted.includes(text)))
      }),
    )
  })
})
