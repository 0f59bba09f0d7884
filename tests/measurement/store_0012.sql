BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0012');
CREATE TABLE invocations (
	id INTEGER NOT NULL,
	run_id INTEGER NOT NULL,
	block INTEGER NOT NULL,
	set_name TEXT NOT NULL,
	subject_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	started_at DATETIME NOT NULL,
	seconds DOUBLE NOT NULL,
	command JSON NOT NULL,
	failure TEXT,
	conditions JSON NOT NULL,
	superseded BOOLEAN NOT NULL,
	CONSTRAINT pk_invocations PRIMARY KEY (id),
	CONSTRAINT fk_invocations_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
	CONSTRAINT fk_invocations_subject_id FOREIGN KEY(subject_id) REFERENCES subjects (id)
);
INSERT INTO "invocations" VALUES(1,1,1,'main',1,1,'2026-02-28 23:59:59.123456',1.5,'["speedtest1", "--testset", "main"]',NULL,'{"steal": 0.125}',0);
INSERT INTO "invocations" VALUES(2,1,1,'main',2,1,'2026-02-28 23:59:59.123456',1.5,'["speedtest1", "--testset", "main"]',NULL,'{"steal": 0.125}',0);
INSERT INTO "invocations" VALUES(3,1,2,'main',1,1,'2026-02-28 23:59:59.123456',1.5,'["speedtest1", "--testset", "main"]',NULL,'{"steal": 0.125}',1);
INSERT INTO "invocations" VALUES(4,1,2,'main',2,1,'2026-02-28 23:59:59.123456',1.5,'["speedtest1", "--testset", "main"]','it printed nothing','{"steal": 0.125}',0);
CREATE TABLE machines (
	id INTEGER NOT NULL,
	digest VARCHAR(64) NOT NULL,
	fingerprint VARCHAR(64) NOT NULL,
	cpu_model TEXT NOT NULL,
	cores INTEGER NOT NULL,
	memory_bytes BIGINT NOT NULL,
	kernel TEXT NOT NULL,
	distribution TEXT NOT NULL,
	virtualisation TEXT NOT NULL,
	governor TEXT NOT NULL,
	details JSON NOT NULL,
	CONSTRAINT pk_machines PRIMARY KEY (id),
	CONSTRAINT uq_machines_digest UNIQUE (digest)
);
INSERT INTO "machines" VALUES(1,'48191b99f3097eeb7cb3ae980b6877a2c16ec253b9c4cb8f1f0196152956c697','f00d','A CPU',2,17179869184,'6.1.0','Debian GNU/Linux 12','kvm','performance','{"turbo": "off"}');
CREATE TABLE measurements (
	run_id INTEGER NOT NULL,
	invocation_id INTEGER NOT NULL,
	step_id INTEGER NOT NULL,
	throughput DOUBLE NOT NULL,
	cpu_seconds DOUBLE,
	instructions DOUBLE,
	peak_memory_bytes DOUBLE, latency_p50 DOUBLE, latency_p95 DOUBLE, latency_p99 DOUBLE, client_cpu_seconds DOUBLE, context_switches DOUBLE, bytes_read DOUBLE, bytes_written DOUBLE, system_seconds DOUBLE, refused_share DOUBLE,
	CONSTRAINT pk_measurements PRIMARY KEY (run_id, invocation_id, step_id),
	CONSTRAINT fk_measurements_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
	CONSTRAINT fk_measurements_invocation_id FOREIGN KEY(invocation_id) REFERENCES invocations (id),
	CONSTRAINT fk_measurements_step_id FOREIGN KEY(step_id) REFERENCES steps (id)
) WITHOUT ROWID;
INSERT INTO "measurements" VALUES(1,1,1,2.0,0.25,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "measurements" VALUES(1,1,2,3.0,0.25,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "measurements" VALUES(1,1,3,4.0,0.25,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "measurements" VALUES(1,2,1,2.0,0.25,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "measurements" VALUES(1,2,2,3.0,0.25,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "measurements" VALUES(1,2,3,4.0,0.25,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "measurements" VALUES(1,3,1,3.0,0.25,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "measurements" VALUES(1,3,2,4.0,0.25,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "measurements" VALUES(1,3,3,5.0,0.25,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE outputs (
	invocation_id INTEGER NOT NULL,
	zlib BLOB NOT NULL,
	CONSTRAINT pk_outputs PRIMARY KEY (invocation_id),
	CONSTRAINT fk_outputs_invocation_id FOREIGN KEY(invocation_id) REFERENCES invocations (id)
);
INSERT INTO "outputs" VALUES(1,X'789C4BCAC94FCE563054C84F53284ACDE14A1AE58E72872F17005CBEED1D');
INSERT INTO "outputs" VALUES(2,X'789C4BCAC94FCE563054C84F532848CFE74A1AE58E72872F170034EAEDB3');
INSERT INTO "outputs" VALUES(3,X'789C4BCAC94FCE563052C84F53284ACDE14A1AE58E72872F1700A647ED4F');
INSERT INTO "outputs" VALUES(4,X'789C4BCAC94FCE563052C84F532848CFE74A1AE58E72872F17007E73EDE5');
CREATE TABLE runs (
	id INTEGER NOT NULL,
	title TEXT NOT NULL,
	experiment TEXT NOT NULL,
	experiment_name TEXT NOT NULL,
	state VARCHAR(16) NOT NULL,
	session TEXT NOT NULL,
	created_at DATETIME NOT NULL,
	finished_at DATETIME,
	seconds DOUBLE NOT NULL,
	suite TEXT NOT NULL,
	size TEXT NOT NULL,
	seed BIGINT NOT NULL,
	target DOUBLE NOT NULL,
	budget_seconds DOUBLE NOT NULL,
	min_blocks INTEGER NOT NULL,
	max_blocks INTEGER NOT NULL,
	machine_id INTEGER NOT NULL,
	hone_version TEXT NOT NULL,
	stopped_by TEXT,
	error TEXT, waited_seconds DOUBLE DEFAULT '0' NOT NULL,
	CONSTRAINT pk_runs PRIMARY KEY (id),
	CONSTRAINT fk_runs_machine_id FOREIGN KEY(machine_id) REFERENCES machines (id)
);
INSERT INTO "runs" VALUES(1,'Does it pay?','title = "Does it pay?"
','try','done','5e5510','2026-02-28 23:50:00.000001','2026-02-28 23:59:59.123456',9.5,'speedtest1','quick',1099511627776,0.02,480.0,5,30,1,'0.1.0','target',NULL,0.0);
CREATE TABLE series (
	invocation_id INTEGER NOT NULL, 
	quantity TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	seconds JSON NOT NULL, 
	readings JSON NOT NULL, 
	CONSTRAINT pk_series PRIMARY KEY (invocation_id, quantity), 
	CONSTRAINT fk_series_invocation_id FOREIGN KEY(invocation_id) REFERENCES invocations (id)
)
 WITHOUT ROWID

;
CREATE TABLE slices (
	invocation_id INTEGER NOT NULL, 
	round_number INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	began DOUBLE NOT NULL, 
	seconds DOUBLE NOT NULL, 
	operations BIGINT NOT NULL, 
	errors BIGINT NOT NULL, 
	counted BOOLEAN NOT NULL, 
	CONSTRAINT pk_slices PRIMARY KEY (invocation_id, round_number), 
	CONSTRAINT fk_slices_invocation_id FOREIGN KEY(invocation_id) REFERENCES invocations (id)
)
 WITHOUT ROWID

;
CREATE TABLE steps (
	id INTEGER NOT NULL,
	run_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	set_name TEXT NOT NULL,
	step_key TEXT NOT NULL,
	title TEXT NOT NULL,
	step_group VARCHAR(16) NOT NULL,
	in_sample BOOLEAN NOT NULL, threads INTEGER,
	CONSTRAINT pk_steps PRIMARY KEY (id),
	CONSTRAINT fk_steps_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
	CONSTRAINT uq_steps_run_id_set_name_step_key UNIQUE (run_id, set_name, step_key)
);
INSERT INTO "steps" VALUES(1,1,0,'main','100','step 100','write',1,NULL);
INSERT INTO "steps" VALUES(2,1,1,'main','110','step 110','point',1,NULL);
INSERT INTO "steps" VALUES(3,1,2,'main','120','step 120','range',1,NULL);
CREATE TABLE subjects (
	id INTEGER NOT NULL,
	run_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	name TEXT NOT NULL,
	role VARCHAR(16) NOT NULL,
	dbms TEXT NOT NULL,
	version TEXT NOT NULL,
	source TEXT NOT NULL,
	source_digest TEXT NOT NULL,
	variant TEXT NOT NULL,
	compiler TEXT NOT NULL,
	flags JSON NOT NULL,
	build_digest TEXT NOT NULL,
	build_path TEXT NOT NULL,
	build_seconds DOUBLE NOT NULL,
	binary_bytes BIGINT NOT NULL,
	trained_on JSON NOT NULL,
	training_seconds DOUBLE,
	profile_coverage DOUBLE,
	broken TEXT, settings JSON, timings JSON, levers JSON, defaults JSON, inputs JSON, layout JSON, running JSON,
	CONSTRAINT pk_subjects PRIMARY KEY (id),
	CONSTRAINT fk_subjects_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
	CONSTRAINT uq_subjects_run_id_name UNIQUE (run_id, name)
);
INSERT INTO "subjects" VALUES(1,1,0,'rel','base','sqlite','3.40.1','apt:sqlite3','50','rel+pgo','gcc 12.2.0','["-O2", "-fprofile-use"]','b1','/home/builds/b1',12.5,1400000,'["main"]',3.25,0.5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "subjects" VALUES(2,1,1,'pgo','candidate','sqlite','3.40.1','apt:sqlite3','50','rel+pgo','gcc 12.2.0','["-O2", "-fprofile-use"]','b1','/home/builds/b1',12.5,1400000,'["main"]',3.25,0.5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE warnings (
	id INTEGER NOT NULL,
	run_id INTEGER NOT NULL,
	code TEXT NOT NULL,
	subject TEXT NOT NULL,
	step TEXT NOT NULL,
	message TEXT NOT NULL,
	CONSTRAINT pk_warnings PRIMARY KEY (id),
	CONSTRAINT fk_warnings_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
	CONSTRAINT uq_warnings_run_id_code_subject_step UNIQUE (run_id, code, subject, step)
);
INSERT INTO "warnings" VALUES(1,1,'steal','','','3% was stolen');
CREATE UNIQUE INDEX uq_invocations_that_count ON invocations (run_id, block, set_name, subject_id) WHERE superseded IS 0;
CREATE VIEW results AS
SELECT
    measurements.run_id,
    invocations.block,
    subjects.name AS subject,
    subjects.role,
    steps.set_name,
    steps.step_key,
    steps.step_group,
    steps.in_sample,
    steps.threads,
    measurements.throughput,
    measurements.cpu_seconds,
    measurements.instructions,
    measurements.peak_memory_bytes,
    measurements.latency_p50,
    measurements.latency_p95,
    measurements.latency_p99,
    measurements.client_cpu_seconds,
    measurements.context_switches,
    measurements.bytes_read,
    measurements.bytes_written,
    measurements.refused_share,
    measurements.system_seconds
FROM measurements
JOIN invocations ON invocations.id = measurements.invocation_id
JOIN subjects ON subjects.id = invocations.subject_id
JOIN steps ON steps.id = measurements.step_id
WHERE NOT invocations.superseded;
COMMIT;
