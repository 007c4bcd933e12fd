BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v3.2.0.a');
CREATE TABLE studies (
	study_id INTEGER NOT NULL, 
	study_name VARCHAR(512) NOT NULL, 
	PRIMARY KEY (study_id)
);
INSERT INTO "studies" VALUES(1,'rule');
CREATE TABLE study_directions (
	study_direction_id INTEGER NOT NULL, 
	direction VARCHAR(8) NOT NULL, 
	study_id INTEGER NOT NULL, 
	objective INTEGER NOT NULL, 
	PRIMARY KEY (study_direction_id), 
	UNIQUE (study_id, objective), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "study_directions" VALUES(1,'MINIMIZE',1,0);
INSERT INTO "study_directions" VALUES(2,'MINIMIZE',1,1);
CREATE TABLE study_system_attributes (
	study_system_attribute_id INTEGER NOT NULL, 
	study_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (study_system_attribute_id), 
	UNIQUE (study_id, "key"), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "study_system_attributes" VALUES(1,1,'mofs:baselines.constant','{"value": [0.48333333333333334, 0.0]}');
INSERT INTO "study_system_attributes" VALUES(2,1,'mofs:baselines.all_features','{"value": [0.11666666666666665, 1.0]}');
INSERT INTO "study_system_attributes" VALUES(3,1,'mofs:losses','{"value": {"measure": "error", "groups": {}, "weights": {}}}');
INSERT INTO "study_system_attributes" VALUES(4,1,'mofs:description','{"value": {"features": {"names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14"], "columns": null, "costs": null, "fixed": [], "filters": ["anova_f", "variance"], "ranks": "eJxNzNEKABAQRNFNkiRJkuT/v9OVebB1XraZiWZWsZHh0LDg7V1Cx8BEQFG+f7+l7lbWqRu1U9W7uwdp6AGl", "expected_n_features": 2.74, "similar": null, "min_features": 0, "max_features": null}, "representation": {"kind": "filter_ensemble", "ranks": "fold", "scale": "log", "redundancy_penalty": false}, "space": {"n_neighbors": "{\"name\": \"IntDistribution\", \"attributes\": {\"log\": false, \"step\": 1, \"low\": 1, \"high\": 9}}"}, "measures": [["error", "minimize", 0.48333333333333334, "1 - accuracy"], ["fraction", "minimize", 1.0, "fraction of features"]], "active_if": {}, "conditions": {"rows": "60 rows", "table": "X 2db5f2cf", "target": "y e3471aa1", "weights": "none", "estimator": "KNeighborsClassifier", "parameters": "the estimator''s own defaults", "scoring": "the estimator''s own", "folds": "3 folds 427351eb", "holdout": "none"}, "defaults": {"n_neighbors": 5}, "schema": 1, "written_by": "0.2.0"}}');
INSERT INTO "study_system_attributes" VALUES(5,1,'study:metric_names','["error", "fraction"]');
CREATE TABLE study_user_attributes (
	study_user_attribute_id INTEGER NOT NULL, 
	study_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (study_user_attribute_id), 
	UNIQUE (study_id, "key"), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
CREATE TABLE trial_heartbeats (
	trial_heartbeat_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	heartbeat DATETIME NOT NULL, 
	PRIMARY KEY (trial_heartbeat_id), 
	UNIQUE (trial_id), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_intermediate_values (
	trial_intermediate_value_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	step INTEGER NOT NULL, 
	intermediate_value FLOAT, 
	intermediate_value_type VARCHAR(7) NOT NULL, 
	PRIMARY KEY (trial_intermediate_value_id), 
	UNIQUE (trial_id, step), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_params (
	param_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	param_name VARCHAR(512), 
	param_value FLOAT, 
	distribution_json TEXT, 
	PRIMARY KEY (param_id), 
	UNIQUE (trial_id, param_name), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_params" VALUES(1,1,'fraction',2.5819888974716104224e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.02666666666666667, "high": 1.0, "log": true}}');
INSERT INTO "trial_params" VALUES(2,1,'weight_anova_f',1.0,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(3,1,'weight_variance',0.0,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(4,1,'n_neighbors',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(5,2,'fraction',2.66666666666666683782e-02,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.02666666666666667, "high": 1.0, "log": true}}');
INSERT INTO "trial_params" VALUES(6,2,'weight_anova_f',8.00908086891972126331e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(7,2,'weight_variance',9.56513817475338590234e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(8,2,'n_neighbors',7.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(9,3,'fraction',4.89318747437533563271e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.02666666666666667, "high": 1.0, "log": true}}');
INSERT INTO "trial_params" VALUES(10,3,'weight_anova_f',0.0,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(11,3,'weight_variance',1.0,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(12,3,'n_neighbors',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(13,4,'fraction',1.73926183908611586836e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.02666666666666667, "high": 1.0, "log": true}}');
INSERT INTO "trial_params" VALUES(14,4,'weight_anova_f',3.2137482233751335503e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(15,4,'weight_variance',3.16874608532678458949e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(16,4,'n_neighbors',8.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(17,5,'fraction',9.27319388663131682903e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.02666666666666667, "high": 1.0, "log": true}}');
INSERT INTO "trial_params" VALUES(18,5,'weight_anova_f',1.0,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(19,5,'weight_variance',0.0,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(20,5,'n_neighbors',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(21,6,'fraction',3.29611574008279506475e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.02666666666666667, "high": 1.0, "log": true}}');
INSERT INTO "trial_params" VALUES(22,6,'weight_anova_f',4.11438137849472918006e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(23,6,'weight_variance',3.68903254697180327248e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(24,6,'n_neighbors',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(25,7,'fraction',1.17158975697511782976e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.02666666666666667, "high": 1.0, "log": true}}');
INSERT INTO "trial_params" VALUES(26,7,'weight_anova_f',0.0,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(27,7,'weight_variance',1.0,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(28,7,'n_neighbors',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(29,8,'fraction',0.624654593567703,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.02666666666666667, "high": 1.0, "log": true}}');
INSERT INTO "trial_params" VALUES(30,8,'weight_anova_f',7.99169246471565397627e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(31,8,'weight_variance',4.76506812385133926568e-01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}');
INSERT INTO "trial_params" VALUES(32,8,'n_neighbors',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
CREATE TABLE trial_system_attributes (
	trial_system_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_system_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_system_attributes" VALUES(1,1,'mofs:proposal','{"operator": "random", "parents": [], "configuration": "baffde9469895136"}');
INSERT INTO "trial_system_attributes" VALUES(2,1,'mofs:mask','[2519753969412197, "eJxTkgAAAF4AOw=="]');
INSERT INTO "trial_system_attributes" VALUES(3,1,'mofs:losses','{"cross_validation": [60, 1, [0.0, 1.0], "ACAsAQCIRQA="]}');
INSERT INTO "trial_system_attributes" VALUES(4,2,'mofs:proposal','{"operator": "random", "parents": [], "configuration": "cc37ee9d733d9269"}');
INSERT INTO "trial_system_attributes" VALUES(5,2,'mofs:mask','[999108391723157, "eJxjYAAAAAIAAQ=="]');
INSERT INTO "trial_system_attributes" VALUES(6,2,'mofs:losses','{"cross_validation": [60, 1, [0.0, 1.0], "zcdJLUiPVRA="]}');
INSERT INTO "trial_system_attributes" VALUES(7,3,'mofs:proposal','{"operator": "random", "parents": [], "configuration": "ab076f815bf9984e"}');
INSERT INTO "trial_system_attributes" VALUES(8,3,'mofs:mask','[2212245201870085, "eJzL5wAAAOgAeA=="]');
INSERT INTO "trial_system_attributes" VALUES(9,3,'mofs:losses','{"cross_validation": [60, 1, [0.0, 1.0], "BAEECAAAAAA="]}');
INSERT INTO "trial_system_attributes" VALUES(10,4,'mofs:proposal','{"operator": "random", "parents": [], "configuration": "dfc0f47711ef36c9"}');
INSERT INTO "trial_system_attributes" VALUES(11,4,'mofs:mask','[109616441645918, "eJxT4gAAAE4AKw=="]');
INSERT INTO "trial_system_attributes" VALUES(12,4,'mofs:losses','{"cross_validation": [60, 1, [0.0, 1.0], "BCAMLQCARBA="]}');
INSERT INTO "trial_system_attributes" VALUES(13,5,'mofs:proposal','{"operator": "random", "parents": [], "configuration": "8a9b6ebce066129a"}');
INSERT INTO "trial_system_attributes" VALUES(14,5,'mofs:mask','[858887063883178, "eJz7XwcAAn4Bfg=="]');
INSERT INTO "trial_system_attributes" VALUES(15,5,'mofs:losses','{"cross_validation": [60, 1, [0.0, 1.0], "RAMFCAgEAQA="]}');
INSERT INTO "trial_system_attributes" VALUES(16,6,'mofs:proposal','{"operator": "random", "parents": [], "configuration": "952577ca2ce1bf35"}');
INSERT INTO "trial_system_attributes" VALUES(17,6,'mofs:mask','[2703734787374950, "eJxL4wAAANYAbw=="]');
INSERT INTO "trial_system_attributes" VALUES(18,6,'mofs:losses','{"cross_validation": [60, 1, [0.0, 1.0], "BAAEBAAARCA="]}');
INSERT INTO "trial_system_attributes" VALUES(19,7,'mofs:proposal','{"operator": "random", "parents": [], "configuration": "124f4bf4c7366d53"}');
INSERT INTO "trial_system_attributes" VALUES(20,7,'mofs:mask','[435863685384941, "eJzjYgAAABYACw=="]');
INSERT INTO "trial_system_attributes" VALUES(21,7,'mofs:losses','{"cross_validation": [60, 1, [0.0, 1.0], "BAIECAAAAAA="]}');
INSERT INTO "trial_system_attributes" VALUES(22,8,'mofs:proposal','{"operator": "random", "parents": [], "configuration": "27ac3037a70bef71"}');
INSERT INTO "trial_system_attributes" VALUES(23,8,'mofs:mask','[2895702243265240, "eJwrswIAASgAsQ=="]');
INSERT INTO "trial_system_attributes" VALUES(24,8,'mofs:losses','{"cross_validation": [60, 1, [0.0, 1.0], "RAMMCAgOQAA="]}');
CREATE TABLE trial_user_attributes (
	trial_user_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_user_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_user_attributes" VALUES(1,1,'operator','"random"');
INSERT INTO "trial_user_attributes" VALUES(2,1,'n_features','4');
INSERT INTO "trial_user_attributes" VALUES(3,1,'features','"x2, x6, x11, x12"');
INSERT INTO "trial_user_attributes" VALUES(4,1,'fold_scores','{"error": [0.15000000000000002, 0.30000000000000004, 0.050000000000000044]}');
INSERT INTO "trial_user_attributes" VALUES(5,1,'fold_std','0.125831');
INSERT INTO "trial_user_attributes" VALUES(6,2,'operator','"random"');
INSERT INTO "trial_user_attributes" VALUES(7,2,'n_features','0');
INSERT INTO "trial_user_attributes" VALUES(8,2,'features','""');
INSERT INTO "trial_user_attributes" VALUES(9,2,'fold_scores','{"error": [0.44999999999999996, 0.5, 0.5]}');
INSERT INTO "trial_user_attributes" VALUES(10,2,'fold_std','0.028868');
INSERT INTO "trial_user_attributes" VALUES(11,3,'operator','"random"');
INSERT INTO "trial_user_attributes" VALUES(12,3,'n_features','7');
INSERT INTO "trial_user_attributes" VALUES(13,3,'features','"x1, x2, x4, x5, x6, x7, x12"');
INSERT INTO "trial_user_attributes" VALUES(14,3,'fold_scores','{"error": [0.09999999999999998, 0.0, 0.09999999999999998]}');
INSERT INTO "trial_user_attributes" VALUES(15,3,'fold_std','0.057735');
INSERT INTO "trial_user_attributes" VALUES(16,4,'operator','"random"');
INSERT INTO "trial_user_attributes" VALUES(17,4,'n_features','3');
INSERT INTO "trial_user_attributes" VALUES(18,4,'features','"x2, x6, x12"');
INSERT INTO "trial_user_attributes" VALUES(19,4,'fold_scores','{"error": [0.19999999999999996, 0.19999999999999996, 0.19999999999999996]}');
INSERT INTO "trial_user_attributes" VALUES(20,4,'fold_std','0.0');
INSERT INTO "trial_user_attributes" VALUES(21,5,'operator','"random"');
INSERT INTO "trial_user_attributes" VALUES(22,5,'n_features','14');
INSERT INTO "trial_user_attributes" VALUES(23,5,'features','"x0, x1, x2, x3, x4, x5, x6, x7, x9, x10, x11, x12, x13, x14"');
INSERT INTO "trial_user_attributes" VALUES(24,5,'fold_scores','{"error": [0.09999999999999998, 0.09999999999999998, 0.30000000000000004]}');
INSERT INTO "trial_user_attributes" VALUES(25,5,'fold_std','0.11547');
INSERT INTO "trial_user_attributes" VALUES(26,6,'operator','"random"');
INSERT INTO "trial_user_attributes" VALUES(27,6,'n_features','5');
INSERT INTO "trial_user_attributes" VALUES(28,6,'features','"x1, x2, x5, x6, x12"');
INSERT INTO "trial_user_attributes" VALUES(29,6,'fold_scores','{"error": [0.19999999999999996, 0.0, 0.09999999999999998]}');
INSERT INTO "trial_user_attributes" VALUES(30,6,'fold_std','0.1');
INSERT INTO "trial_user_attributes" VALUES(31,7,'operator','"random"');
INSERT INTO "trial_user_attributes" VALUES(32,7,'n_features','2');
INSERT INTO "trial_user_attributes" VALUES(33,7,'features','"x4, x6"');
INSERT INTO "trial_user_attributes" VALUES(34,7,'fold_scores','{"error": [0.09999999999999998, 0.0, 0.09999999999999998]}');
INSERT INTO "trial_user_attributes" VALUES(35,7,'fold_std','0.057735');
INSERT INTO "trial_user_attributes" VALUES(36,8,'operator','"random"');
INSERT INTO "trial_user_attributes" VALUES(37,8,'n_features','9');
INSERT INTO "trial_user_attributes" VALUES(38,8,'features','"x1, x2, x3, x5, x6, x10, x11, x12, x14"');
INSERT INTO "trial_user_attributes" VALUES(39,8,'fold_scores','{"error": [0.19999999999999996, 0.09999999999999998, 0.30000000000000004]}');
INSERT INTO "trial_user_attributes" VALUES(40,8,'fold_std','0.1');
CREATE TABLE trial_values (
	trial_value_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	objective INTEGER NOT NULL, 
	value FLOAT, 
	value_type VARCHAR(7) NOT NULL, 
	PRIMARY KEY (trial_value_id), 
	UNIQUE (trial_id, objective), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_values" VALUES(1,1,0,1.66666666666666712925e-01,'FINITE');
INSERT INTO "trial_values" VALUES(2,1,1,2.66666666666666662965e-01,'FINITE');
INSERT INTO "trial_values" VALUES(3,2,0,4.83333333333333337034e-01,'FINITE');
INSERT INTO "trial_values" VALUES(4,2,1,0.0,'FINITE');
INSERT INTO "trial_values" VALUES(5,3,0,6.66666666666666518636e-02,'FINITE');
INSERT INTO "trial_values" VALUES(6,3,1,4.66666666666666674068e-01,'FINITE');
INSERT INTO "trial_values" VALUES(7,4,0,1.99999999999999955591e-01,'FINITE');
INSERT INTO "trial_values" VALUES(8,4,1,0.2,'FINITE');
INSERT INTO "trial_values" VALUES(9,5,0,1.66666666666666657414e-01,'FINITE');
INSERT INTO "trial_values" VALUES(10,5,1,9.33333333333333348136e-01,'FINITE');
INSERT INTO "trial_values" VALUES(11,6,0,9.99999999999999777955e-02,'FINITE');
INSERT INTO "trial_values" VALUES(12,6,1,3.33333333333333314829e-01,'FINITE');
INSERT INTO "trial_values" VALUES(13,7,0,6.66666666666666518636e-02,'FINITE');
INSERT INTO "trial_values" VALUES(14,7,1,1.33333333333333331482e-01,'FINITE');
INSERT INTO "trial_values" VALUES(15,8,0,1.99999999999999983346e-01,'FINITE');
INSERT INTO "trial_values" VALUES(16,8,1,0.6,'FINITE');
CREATE TABLE trials (
	trial_id INTEGER NOT NULL, 
	number INTEGER, 
	study_id INTEGER, 
	state VARCHAR(8) NOT NULL, 
	datetime_start DATETIME, 
	datetime_complete DATETIME, 
	PRIMARY KEY (trial_id), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "trials" VALUES(1,0,1,'COMPLETE','2026-11-19 23:32:56.035478','2026-11-19 23:32:58.012232');
INSERT INTO "trials" VALUES(2,1,1,'COMPLETE','2026-11-19 23:32:58.235542','2026-11-19 23:32:59.696551');
INSERT INTO "trials" VALUES(3,2,1,'COMPLETE','2026-11-19 23:32:59.890212','2026-11-19 23:33:00.900784');
INSERT INTO "trials" VALUES(4,3,1,'COMPLETE','2026-11-19 23:33:01.032792','2026-11-19 23:33:02.181985');
INSERT INTO "trials" VALUES(5,4,1,'COMPLETE','2026-11-19 23:33:02.264405','2026-11-19 23:33:03.195272');
INSERT INTO "trials" VALUES(6,5,1,'COMPLETE','2026-11-19 23:33:03.342466','2026-11-19 23:33:04.266040');
INSERT INTO "trials" VALUES(7,6,1,'COMPLETE','2026-11-19 23:33:04.340054','2026-11-19 23:33:05.373778');
INSERT INTO "trials" VALUES(8,7,1,'COMPLETE','2026-11-19 23:33:05.471861','2026-11-19 23:33:06.259603');
CREATE TABLE version_info (
	version_info_id INTEGER NOT NULL, 
	schema_version INTEGER, 
	library_version VARCHAR(256), 
	PRIMARY KEY (version_info_id), 
	CHECK (version_info_id=1)
);
INSERT INTO "version_info" VALUES(1,12,'5.0.0');
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE INDEX ix_trials_study_id ON trials (study_id);
COMMIT;
