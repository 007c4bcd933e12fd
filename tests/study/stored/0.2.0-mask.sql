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
INSERT INTO "studies" VALUES(1,'mask');
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
INSERT INTO "study_system_attributes" VALUES(1,1,'mofs:baselines.constant','{"value": [0.4791666666666667, 0.0]}');
INSERT INTO "study_system_attributes" VALUES(2,1,'mofs:baselines.all_features','{"value": [0.14583333333333334, 1.0]}');
INSERT INTO "study_system_attributes" VALUES(3,1,'mofs:losses','{"value": {"measure": "error", "groups": {}, "weights": {}}}');
INSERT INTO "study_system_attributes" VALUES(4,1,'mofs:description','{"value": {"features": {"names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14"], "columns": null, "costs": null, "fixed": [], "filters": ["anova_f", "variance"], "ranks": "eJw1zAEGwDAQRNFRVREVK9aq6v3PmU8ny2MZfkia+DBwoKFw678LiRMvOh7v6X9v5dZ0q7sn98O9BWoYAaU=", "expected_n_features": 2.07, "similar": null, "min_features": 0, "max_features": null}, "representation": {"kind": "mask", "form": "packed", "name": "mask"}, "space": {"n_neighbors": "{\"name\": \"IntDistribution\", \"attributes\": {\"log\": false, \"step\": 1, \"low\": 1, \"high\": 9}}"}, "measures": [["error", "minimize", 0.4791666666666667, "1 - accuracy"], ["fraction", "minimize", 1.0, "fraction of features"]], "active_if": {}, "conditions": {"rows": "60 rows", "table": "X 2db5f2cf", "target": "y e3471aa1", "weights": "none", "estimator": "KNeighborsClassifier", "parameters": "the estimator''s own defaults", "scoring": "the estimator''s own", "folds": "3 folds d06ee9c1", "holdout": "12 rows 987d3efe"}, "defaults": {"n_neighbors": 5}, "schema": 1, "written_by": "0.2.0"}}');
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
INSERT INTO "trial_params" VALUES(1,1,'mask',3.59665255830678100008e+15,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4503599627370495}}');
INSERT INTO "trial_params" VALUES(2,1,'n_neighbors',6.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(3,2,'mask',999108391723157.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4503599627370495}}');
INSERT INTO "trial_params" VALUES(4,2,'n_neighbors',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(5,3,'mask',3.95944242243946e+15,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4503599627370495}}');
INSERT INTO "trial_params" VALUES(6,3,'n_neighbors',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(7,4,'mask',790867994303941.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4503599627370495}}');
INSERT INTO "trial_params" VALUES(8,4,'n_neighbors',9.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(9,5,'mask',3.87734536170614400001e+15,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4503599627370495}}');
INSERT INTO "trial_params" VALUES(10,5,'n_neighbors',5.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(11,6,'mask',115165248167287.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4503599627370495}}');
INSERT INTO "trial_params" VALUES(12,6,'n_neighbors',5.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(13,7,'mask',435863685384941.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4503599627370495}}');
INSERT INTO "trial_params" VALUES(14,7,'n_neighbors',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
INSERT INTO "trial_params" VALUES(15,8,'mask',3.14389257083912499997e+15,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4503599627370495}}');
INSERT INTO "trial_params" VALUES(16,8,'n_neighbors',6.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 9}}');
CREATE TABLE trial_system_attributes (
	trial_system_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_system_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_system_attributes" VALUES(1,1,'mofs:proposal','{"operator": "initial_spread", "parents": [], "filter_weights": [0.01963639113818083, 6.878756741245099e-05], "configuration": "7af5f662f01d3b1c"}');
INSERT INTO "trial_system_attributes" VALUES(2,1,'mofs:mask','[3596652558306781, "eJxT4gIAAFAALQ=="]');
INSERT INTO "trial_system_attributes" VALUES(3,1,'mofs:losses','{"cross_validation": [48, 1, [0.0, 1.0], "wxAiUMKE"], "holdout": [12, 1, [0.0, 1.0], "xIA="]}');
INSERT INTO "trial_system_attributes" VALUES(4,2,'mofs:proposal','{"operator": "initial_spread", "parents": [], "filter_weights": [0.1729372146636086, 0.5137455066737429], "configuration": "ee6c3160ece210d0"}');
INSERT INTO "trial_system_attributes" VALUES(5,2,'mofs:mask','[999108391723157, "eJxjYAAAAAIAAQ=="]');
INSERT INTO "trial_system_attributes" VALUES(6,2,'mofs:losses','{"cross_validation": [48, 1, [0.0, 1.0], "w5wr1NHE"], "holdout": [12, 1, [0.0, 1.0], "zoA="]}');
INSERT INTO "trial_system_attributes" VALUES(7,3,'mofs:proposal','{"operator": "initial_spread", "parents": [], "filter_weights": [0.06517728604006957, 0.21739533657441823], "configuration": "bbe4f7d5c9345e7f"}');
INSERT INTO "trial_system_attributes" VALUES(8,3,'mofs:mask','[3959442422439460, "eJzL5wEAAOwAfA=="]');
INSERT INTO "trial_system_attributes" VALUES(9,3,'mofs:losses','{"cross_validation": [48, 1, [0.0, 1.0], "AAAAQEKA"], "holdout": [12, 1, [0.0, 1.0], "AgA="]}');
INSERT INTO "trial_system_attributes" VALUES(10,4,'mofs:proposal','{"operator": "initial_spread", "parents": [], "filter_weights": [0.6369759955226425, 0.03319216255168726], "configuration": "28330ecf8cecbacd"}');
INSERT INTO "trial_system_attributes" VALUES(11,4,'mofs:mask','[790867994303941, "eJxT4AIAAEwAKw=="]');
INSERT INTO "trial_system_attributes" VALUES(12,4,'mofs:losses','{"cross_validation": [48, 1, [0.0, 1.0], "AOU4IjuY"], "holdout": [12, 1, [0.0, 1.0], "DQA="]}');
INSERT INTO "trial_system_attributes" VALUES(13,5,'mofs:proposal','{"operator": "initial_spread", "parents": [], "filter_weights": [0.011945020821631938, 0.06924759273444946], "configuration": "940fe4c696d6f99e"}');
INSERT INTO "trial_system_attributes" VALUES(14,5,'mofs:mask','[3877345361706144, "eJz7/w4AAu4B7g=="]');
INSERT INTO "trial_system_attributes" VALUES(15,5,'mofs:losses','{"cross_validation": [48, 1, [0.0, 1.0], "AAABRAOA"]}');
INSERT INTO "trial_system_attributes" VALUES(16,6,'mofs:proposal','{"operator": "initial_spread", "parents": [], "filter_weights": [0.16434062080129, 0.06964879982768722], "configuration": "40f051891f97d358"}');
INSERT INTO "trial_system_attributes" VALUES(17,6,'mofs:mask','[115165248167287, "eJxL4gIAANAAbQ=="]');
INSERT INTO "trial_system_attributes" VALUES(18,6,'mofs:losses','{"cross_validation": [48, 1, [0.0, 1.0], "QxAiEMKE"], "holdout": [12, 1, [0.0, 1.0], "hAA="]}');
INSERT INTO "trial_system_attributes" VALUES(19,7,'mofs:proposal','{"operator": "initial_spread", "parents": [], "filter_weights": [0.009703823333569391, 0.3870362926518205], "configuration": "7d14937c2edbb649"}');
INSERT INTO "trial_system_attributes" VALUES(20,7,'mofs:mask','[435863685384941, "eJzjYgAAABYACw=="]');
INSERT INTO "trial_system_attributes" VALUES(21,7,'mofs:losses','{"cross_validation": [48, 1, [0.0, 1.0], "AAAAEAKE"], "holdout": [12, 1, [0.0, 1.0], "AgA="]}');
INSERT INTO "trial_system_attributes" VALUES(22,8,'mofs:proposal','{"operator": "initial_spread", "parents": [], "filter_weights": [0.4693283558569492, 0.5104066090154799], "configuration": "66712349cac6add2"}');
INSERT INTO "trial_system_attributes" VALUES(23,8,'mofs:mask','[3143892570839125, "eJx7rwUAAgoBGg=="]');
INSERT INTO "trial_system_attributes" VALUES(24,8,'mofs:losses','{"cross_validation": [48, 1, [0.0, 1.0], "AIAJQJKA"]}');
CREATE TABLE trial_user_attributes (
	trial_user_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_user_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_user_attributes" VALUES(1,1,'operator','"initial_spread"');
INSERT INTO "trial_user_attributes" VALUES(2,1,'n_features','4');
INSERT INTO "trial_user_attributes" VALUES(3,1,'features','"x2, x6, x12, x14"');
INSERT INTO "trial_user_attributes" VALUES(4,1,'fold_scores','{"error": [0.125, 0.375, 0.375]}');
INSERT INTO "trial_user_attributes" VALUES(5,1,'fold_std','0.144338');
INSERT INTO "trial_user_attributes" VALUES(6,2,'operator','"initial_spread"');
INSERT INTO "trial_user_attributes" VALUES(7,2,'n_features','0');
INSERT INTO "trial_user_attributes" VALUES(8,2,'features','""');
INSERT INTO "trial_user_attributes" VALUES(9,2,'fold_scores','{"error": [0.4375, 0.5, 0.5]}');
INSERT INTO "trial_user_attributes" VALUES(10,2,'fold_std','0.036084');
INSERT INTO "trial_user_attributes" VALUES(11,3,'operator','"initial_spread"');
INSERT INTO "trial_user_attributes" VALUES(12,3,'n_features','8');
INSERT INTO "trial_user_attributes" VALUES(13,3,'features','"x1, x2, x4, x5, x6, x7, x12, x13"');
INSERT INTO "trial_user_attributes" VALUES(14,3,'fold_scores','{"error": [0.0, 0.1875, 0.0625]}');
INSERT INTO "trial_user_attributes" VALUES(15,3,'fold_std','0.09547');
INSERT INTO "trial_user_attributes" VALUES(16,4,'operator','"initial_spread"');
INSERT INTO "trial_user_attributes" VALUES(17,4,'n_features','3');
INSERT INTO "trial_user_attributes" VALUES(18,4,'features','"x2, x12, x14"');
INSERT INTO "trial_user_attributes" VALUES(19,4,'fold_scores','{"error": [0.5, 0.25, 0.375]}');
INSERT INTO "trial_user_attributes" VALUES(20,4,'fold_std','0.125');
INSERT INTO "trial_user_attributes" VALUES(21,5,'operator','"initial_spread"');
INSERT INTO "trial_user_attributes" VALUES(22,5,'n_features','14');
INSERT INTO "trial_user_attributes" VALUES(23,5,'features','"x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x12, x13, x14"');
INSERT INTO "trial_user_attributes" VALUES(24,5,'fold_scores','{"error": [0.125, 0.1875, 0.0625]}');
INSERT INTO "trial_user_attributes" VALUES(25,5,'fold_std','0.0625');
INSERT INTO "trial_user_attributes" VALUES(26,6,'operator','"initial_spread"');
INSERT INTO "trial_user_attributes" VALUES(27,6,'n_features','5');
INSERT INTO "trial_user_attributes" VALUES(28,6,'features','"x1, x2, x6, x12, x14"');
INSERT INTO "trial_user_attributes" VALUES(29,6,'fold_scores','{"error": [0.0625, 0.3125, 0.375]}');
INSERT INTO "trial_user_attributes" VALUES(30,6,'fold_std','0.165359');
INSERT INTO "trial_user_attributes" VALUES(31,7,'operator','"initial_spread"');
INSERT INTO "trial_user_attributes" VALUES(32,7,'n_features','2');
INSERT INTO "trial_user_attributes" VALUES(33,7,'features','"x4, x6"');
INSERT INTO "trial_user_attributes" VALUES(34,7,'fold_scores','{"error": [0.0, 0.1875, 0.0625]}');
INSERT INTO "trial_user_attributes" VALUES(35,7,'fold_std','0.09547');
INSERT INTO "trial_user_attributes" VALUES(36,8,'operator','"initial_spread"');
INSERT INTO "trial_user_attributes" VALUES(37,8,'n_features','10');
INSERT INTO "trial_user_attributes" VALUES(38,8,'features','"x0, x1, x2, x4, x5, x6, x7, x10, x12, x14"');
INSERT INTO "trial_user_attributes" VALUES(39,8,'fold_scores','{"error": [0.125, 0.25, 0.125]}');
INSERT INTO "trial_user_attributes" VALUES(40,8,'fold_std','0.072169');
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
INSERT INTO "trial_values" VALUES(1,1,0,2.9166666666666668517e-01,'FINITE');
INSERT INTO "trial_values" VALUES(2,1,1,2.66666666666666662965e-01,'FINITE');
INSERT INTO "trial_values" VALUES(3,2,0,4.7916666666666668517e-01,'FINITE');
INSERT INTO "trial_values" VALUES(4,2,1,0.0,'FINITE');
INSERT INTO "trial_values" VALUES(5,3,0,8.33333333333333287074e-02,'FINITE');
INSERT INTO "trial_values" VALUES(6,3,1,5.33333333333333325931e-01,'FINITE');
INSERT INTO "trial_values" VALUES(7,4,0,0.375,'FINITE');
INSERT INTO "trial_values" VALUES(8,4,1,0.2,'FINITE');
INSERT INTO "trial_values" VALUES(9,5,0,0.125,'FINITE');
INSERT INTO "trial_values" VALUES(10,5,1,9.33333333333333348136e-01,'FINITE');
INSERT INTO "trial_values" VALUES(11,6,0,0.25,'FINITE');
INSERT INTO "trial_values" VALUES(12,6,1,3.33333333333333314829e-01,'FINITE');
INSERT INTO "trial_values" VALUES(13,7,0,8.33333333333333287074e-02,'FINITE');
INSERT INTO "trial_values" VALUES(14,7,1,1.33333333333333331482e-01,'FINITE');
INSERT INTO "trial_values" VALUES(15,8,0,1.66666666666666657414e-01,'FINITE');
INSERT INTO "trial_values" VALUES(16,8,1,6.66666666666666629659e-01,'FINITE');
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
INSERT INTO "trials" VALUES(1,0,1,'COMPLETE','2026-11-19 23:33:09.883352','2026-11-19 23:33:10.994444');
INSERT INTO "trials" VALUES(2,1,1,'COMPLETE','2026-11-19 23:33:11.202213','2026-11-19 23:33:12.121224');
INSERT INTO "trials" VALUES(3,2,1,'COMPLETE','2026-11-19 23:33:12.257270','2026-11-19 23:33:13.072782');
INSERT INTO "trials" VALUES(4,3,1,'COMPLETE','2026-11-19 23:33:13.314688','2026-11-19 23:33:14.357378');
INSERT INTO "trials" VALUES(5,4,1,'COMPLETE','2026-11-19 23:33:14.494851','2026-11-19 23:33:15.448676');
INSERT INTO "trials" VALUES(6,5,1,'COMPLETE','2026-11-19 23:33:15.592744','2026-11-19 23:33:16.464296');
INSERT INTO "trials" VALUES(7,6,1,'COMPLETE','2026-11-19 23:33:16.547350','2026-11-19 23:33:17.290057');
INSERT INTO "trials" VALUES(8,7,1,'COMPLETE','2026-11-19 23:33:17.499633','2026-11-19 23:33:18.520149');
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
